//===- SourceOps.cpp - which op of the source an op is ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The proof shares no code with the split: it reads dist.stages itself.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SourceOps.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/StageLayers.h"
#include <numeric>

using namespace mlir;
using namespace tgpt;

void tgpt::numberSourceOps(func::FuncOp microBatch, function_ref<bool(Operation *)> isRepeated) {
  Builder builder(microBatch.getContext());
  int64_t number = 0, backward = 0;
  for (Operation &op : microBatch.getBody().front().without_terminator())
    if (isa<BeginBackwardOp>(op))
      backward = number;
    else if (!isRepeated(&op))
      op.setAttr(sourceOpAttributeName, builder.getI64IntegerAttr(number++));
  microBatch->setAttr(sourceOpsAttributeName, builder.getDenseI64ArrayAttr({backward, number}));
}

void tgpt::eraseSourceOps(func::FuncOp microBatch) {
  microBatch->removeAttr(sourceOpsAttributeName);
  microBatch.walk([](Operation *op) {
    op->removeAttr(sourceOpAttributeName);
    op->removeAttr(layerAttributeName);
  });
}

namespace {

class SourceProof {
public:
  SourceProof(func::FuncOp microBatch, int64_t stages, ArrayRef<int64_t> layersOf, int64_t backward, int64_t count)
      : microBatch(microBatch), stages(stages), layersOf(layersOf), backward(backward), found(count) {}

  LogicalResult run() {
    for (auto segment : microBatch.getOps<dist::SegmentOp>())
      for (Operation &op : segment.getBody().front())
        if (failed(checkNumber(segment, &op)) || failed(checkLayer(segment, &op)))
          return failure();
    return checkComplete();
  }

private:
  LogicalResult checkNumber(dist::SegmentOp segment, Operation *op) {
    auto attribute = op->getAttrOfType<IntegerAttr>(sourceOpAttributeName);
    if (!attribute)
      return success();
    int64_t number = attribute.getInt(), count = static_cast<int64_t>(found.size());
    if (number < 0 || number >= count)
      return op->emitError() << "op " << number << " of the source is out of range; the source has " << count;
    if (Operation *other = found[number]) {
      InFlightDiagnostic error = op->emitError() << "op " << number << " of the source is in two segments";
      error.attachNote(other->getLoc()) << "it is here already";
      return error;
    }
    found[number] = op;
    bool isForward = segment.getKind() == dist::SegmentKind::Forward;
    if (isForward == (number < backward))
      return success();
    return op->emitError() << "op " << number << " of the source is in its " << (isForward ? "backward" : "forward")
                           << " but stands in a " << dist::stringifySegmentKind(segment.getKind()) << " segment";
  }

  LogicalResult checkLayer(dist::SegmentOp segment, Operation *op) {
    auto layer = op->getAttrOfType<IntegerAttr>(layerAttributeName);
    if (!layer || !op->hasAttr(sourceOpAttributeName))
      return success();
    std::optional<int64_t> owner = ownerOf(layer.getInt());
    if (!owner)
      return op->emitError() << "layer " << layer.getInt() << " is on no stage: '" << stagesAttributeName << "' gives "
                             << layerCount() << " layers";
    int64_t here = segment.getChunk() * stages + segment.getStage();
    if (here == *owner)
      return success();
    return op->emitError() << "layer " << layer.getInt() << " is on " << textOf(*owner) << " by '"
                           << stagesAttributeName << "', but this op of it on " << textOf(here);
  }

  LogicalResult checkComplete() {
    auto missing = llvm::find(found, nullptr);
    if (missing == found.end())
      return success();
    return microBatch.emitError() << "op " << missing - found.begin() << " of the source is in no segment, one of "
                                  << llvm::count(found, nullptr) << " of " << found.size();
  }

  int64_t layerCount() const { return std::accumulate(layersOf.begin(), layersOf.end(), int64_t(0)); }

  /// The virtual stage that has a layer; none for numbers that no layer has.
  std::optional<int64_t> ownerOf(int64_t layer) const {
    if (layer == -1)
      return 0;
    int64_t before = 0;
    for (auto [virtualStage, layers] : llvm::enumerate(layersOf)) {
      if (layer >= before && layer < before + layers)
        return virtualStage;
      before += layers;
    }
    return layer == before ? std::optional<int64_t>(layersOf.size() - 1) : std::nullopt;
  }

  std::string textOf(int64_t virtualStage) const {
    std::string text = "stage " + std::to_string(virtualStage % stages);
    bool hasChunks = static_cast<int64_t>(layersOf.size()) > stages;
    return hasChunks ? text + " chunk " + std::to_string(virtualStage / stages) : text;
  }

  func::FuncOp microBatch;
  int64_t stages;
  ArrayRef<int64_t> layersOf; ///< of each virtual stage
  int64_t backward;
  std::vector<Operation *> found; ///< by number
};

} // namespace

LogicalResult tgpt::verifySourceOps(ModuleOp module, func::FuncOp microBatch) {
  constexpr int64_t mostOps = 1 << 28;
  auto ops = microBatch->getAttrOfType<DenseI64ArrayAttr>(sourceOpsAttributeName);
  if (!ops || ops.size() != 2 || ops[0] < 0 || ops[1] < ops[0] || ops[1] > mostOps)
    return microBatch.emitError() << "the micro-batch has no legal '" << sourceOpsAttributeName
                                  << "' (array of i64: where the backward begins, how many ops); "
                                     "dist-split-stages{keep-source=true} leaves it";
  FailureOr<int64_t> stages = countStages(module);
  auto layersOf = module->getAttrOfType<DenseI64ArrayAttr>(stagesAttributeName);
  if (failed(stages))
    return failure();
  SmallVector<int64_t> layers;
  if (layersOf)
    layers.assign(layersOf.asArrayRef().begin(), layersOf.asArrayRef().end());
  else if (*stages == 1)
    layers.push_back(countLayers(microBatch));
  if (layers.empty() || layers.size() % *stages != 0)
    return module.emitError() << "module has no '" << stagesAttributeName << "' for the " << *stages
                              << " stages of mesh axis 'pp'";
  return SourceProof(microBatch, *stages, layers, ops[0], ops[1]).run();
}
