//===- StageLayers.cpp - which layers a pipeline stage has ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageLayers.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tgpt;

int64_t StageLayers::layerCount() const {
  return std::accumulate(layersOf.begin(), layersOf.end(), int64_t(0));
}

int64_t StageLayers::virtualStageOf(int64_t layer) const {
  int64_t firstOfNext = 0;
  for (int64_t stage = 0; stage < virtualCount(); ++stage) {
    firstOfNext += layersOf[stage];
    if (layer < firstOfNext)
      return stage;
  }
  return virtualCount() - 1;
}

FailureOr<int64_t> tgpt::countStages(ModuleOp module) {
  auto meshes = module.getOps<dist::MeshOp>();
  if (meshes.begin() == meshes.end()) {
    module.emitError("module has no dist.mesh, so the number of stages is not known");
    return failure();
  }
  return (*meshes.begin()).sizeOf("pp");
}

func::FuncOp tgpt::findPhase(ModuleOp module, StringRef phase) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto attribute = function->getAttrOfType<StringAttr>(phaseAttributeName); attribute && attribute == phase)
      return function;
  return {};
}

int64_t tgpt::countLayers(func::FuncOp microBatch) {
  int64_t highest = 0;
  microBatch.walk([&](Operation *op) {
    if (auto layer = op->getAttrOfType<IntegerAttr>(layerAttributeName))
      highest = std::max(highest, layer.getInt());
  });
  return highest;
}

LogicalResult tgpt::checkStraightLine(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("function has more than one block");
  for (Operation &op : function.getBody().front()) {
    if (isa<dist::SegmentOp>(op))
      return op.emitError("function is already split into stages");
    if (op.getNumRegions() > 0)
      return op.emitError("op has a region, which cannot be cut; tgpt-unroll-layers writes out repeats");
  }
  return success();
}

LogicalResult tgpt::checkStages(ArrayRef<int64_t> stages, int64_t stageCount, int64_t layerCount,
                                function_ref<InFlightDiagnostic()> emitError) {
  int64_t given = stages.size();
  if (given == 0 || given % stageCount != 0)
    return emitError() << "layers are given for " << given << " stages but mesh axis 'pp' is " << stageCount
                       << "; legal is a number a stage or, with interleaving, a number a chunk of each stage";
  if (given > mostVirtualStages)
    return emitError() << "layers are given for " << given << " stages; legal is at most " << mostVirtualStages;
  for (auto [stage, layers] : llvm::enumerate(stages))
    if (layers < 0 || layers > layerCount)
      return emitError() << "stage " << stage << " is given " << layers << " layers; legal is 0 to " << layerCount;
  int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
  if (sum != layerCount)
    return emitError() << "stages are given " << sum << " layers but the model has " << layerCount;
  return success();
}

FailureOr<StageLayers> tgpt::readStages(ModuleOp module, int64_t stageCount, int64_t layerCount) {
  Attribute attribute = module->getAttr(stagesAttributeName);
  if (!attribute && stageCount == 1)
    return StageLayers{1, {layerCount}};
  auto stages = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (!stages) {
    module.emitError() << "module has no '" << stagesAttributeName
                       << "' (array of i64: layers per stage) but mesh axis 'pp' is " << stageCount
                       << "; dist-choose-stages writes it";
    return failure();
  }
  auto emitError = [&] { return module.emitError() << "'" << stagesAttributeName << "': "; };
  if (failed(checkStages(stages.asArrayRef(), stageCount, layerCount, emitError)))
    return failure();
  return StageLayers{stageCount, llvm::to_vector(stages.asArrayRef())};
}
