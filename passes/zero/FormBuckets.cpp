//===- FormBuckets.cpp - many parameters in one flat tensor ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which parameters travel together, and where in the flat tensor does each lie?
//
//   tgpt.parameter @a : tensor<3x..>         tgpt.bucket @zero.a.decayed.parameter
//   tgpt.parameter @b : tensor<2x2x..>   ->    of [@a, @b] at [0, 3] : tensor<8x..>
//   and their gradients                      and one of their gradients
//
// Relies on: local types (dist-partition), the states of tgpt-add-optimizer and the cut
// into stages (dist-choose-stages) where there are several. Leaves true: every
// parameter with a gradient is in one bucket, at the same place as its gradient in
// another; begin clears the gradient buckets, padding included. Under canonical reduction
// each further use of a weight has a gradient, and so a bucket, of its own.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageLayers.h"
#include "passes/zero/BucketFamilies.h"
#include "passes/zero/BucketGroups.h"
#include "passes/zero/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_FORMBUCKETS
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

static FailureOr<StageLayers> readCut(ModuleOp module) {
  func::FuncOp microBatch = findPhase(module, "micro_batch");
  if (!microBatch)
    return module.emitError("has no function of phase 'micro_batch'");
  FailureOr<int64_t> stageCount = countStages(module);
  if (failed(stageCount))
    return failure();
  return readStages(module, *stageCount, countLayers(microBatch));
}

static SmallVector<StateOp> allGradients(ArrayRef<TrainedParameter> trained) {
  SmallVector<StateOp> gradients;
  for (const TrainedParameter &entry : trained) {
    gradients.push_back(entry.gradient);
    llvm::append_range(gradients, entry.moreGradients);
    for (ArrayRef<StateOp> nodes : entry.nodes)
      llvm::append_range(gradients, nodes);
  }
  return gradients;
}

/// Every gradient is a sum over "dp" that is still to be taken.
static LogicalResult checkGradients(ArrayRef<StateOp> gradients) {
  for (StateOp gradient : gradients) {
    dist::LayoutAttr layout = dist::layoutOf(gradient.getType());
    if (!layout || !layout.isLocal() || !layout.isPartialOver(pieceAxis))
      return gradient.emitError() << "gradient '@" << gradient.getSymName() << "' of type " << gradient.getType()
                                  << " is not a local type that is partial over \"" << pieceAxis
                                  << "\": there is no sum that ranks could share out";
  }
  return success();
}

/// Removes what begin writes to the gradients; failure where that is not zero.
static LogicalResult eraseClears(func::FuncOp begin, ArrayRef<StateOp> gradients) {
  SymbolUses uses(begin);
  for (StateOp gradient : gradients) {
    for (WriteOp write : uses.writesOf(gradient.getSymNameAttr())) {
      auto fill = write.getValue().getDefiningOp<FillOp>();
      if (!fill || !fill.getValue().isZero())
        return write.emitError() << "gradient '@" << gradient.getSymName() << "' begins as something else than zeros";
      write.erase();
      if (fill->use_empty())
        fill.erase();
    }
  }
  return success();
}

namespace {

struct FormBucketsPass : tgpt::impl::FormBucketsBase<FormBucketsPass> {
  using FormBucketsBase::FormBucketsBase;

  void runOnOperation() override {
    if (failed(form()))
      signalPassFailure();
  }

  LogicalResult form() {
    ModuleOp module = getOperation();
    if (bucketMib < 0 || bucketMib > (int64_t(1) << 30))
      return module.emitError() << "option 'bucket-mib' is " << bucketMib << ", expected 0 to " << (int64_t(1) << 30);
    FailureOr<StageLayers> cut = readCut(module);
    if (failed(cut))
      return failure();
    mesh = dist::meshOf(module);
    if (mesh.sizeOf(pieceAxis) == 1)
      return module.emitError() << "mesh axis \"" << pieceAxis
                                << "\" is 1: there are no ranks to share anything out to";
    func::FuncOp begin = findPhase(module, "begin");
    if (!begin)
      return module.emitError("has no function of phase 'begin'");
    SmallVector<TrainedParameter> trained = findTrainedParameters(module);
    if (trained.empty())
      return module.emitError("has no gradient states, run tgpt-differentiate first");
    SmallVector<StateOp> gradients = allGradients(trained);
    if (failed(checkGradients(gradients)) || failed(eraseClears(begin, gradients)))
      return failure();
    auto stageOf = [&](int64_t layer) { return cut->virtualStageOf(layer); };
    for (const BucketGroup &group : groupIntoBuckets(trained, bucketMib << 20, stageOf))
      declare(group, begin);
    return success();
  }

  /// The buckets of a group, and the ops that clear the gradients.
  void declare(const BucketGroup &group, func::FuncOp begin) {
    const TrainedParameter &first = group.members.front();
    bool hasNodes = !first.nodes.front().empty(); // which ranks exchange piece by piece
    int64_t elements = 0, pieces = onlyGradients && !hasNodes ? 1 : mesh.sizeOf(pieceAxis);
    SmallVector<Attribute> parameters;
    FlatPlaces places;
    for (TrainedParameter member : group.members) {
      parameters.push_back(FlatSymbolRefAttr::get(member.parameter.getSymNameAttr()));
      places.offsets.push_back(elements);
      elements += cast<RankedTensorType>(member.parameter.getType()).getNumElements();
    }
    places.padded = (elements + pieces - 1) / pieces * pieces;
    ParameterOp parameter = first.parameter;
    auto functions = getOperation().getOps<func::FuncOp>();
    OpBuilder builder(*functions.begin());
    std::string prefix = onlyGradients ? "bucket." : "zero.";
    if (!onlyGradients)
      BucketOp::create(builder, parameter.getLoc(), prefix + group.name + ".parameter",
                       flatTypeOf(parameter.getType(), places), builder.getArrayAttr(parameters), places.offsets);
    clear(declareGradients(builder, group, prefix + group.name + ".gradient", places), begin);
    ++numBuckets;
    numMembers += group.members.size();
    numPadding += places.padded - elements;
  }

  /// Where the members of a bucket lie in it.
  struct FlatPlaces {
    SmallVector<int64_t> offsets;
    int64_t padded = 0; ///< elements of the bucket
  };

  RankedTensorType flatTypeOf(Type part, const FlatPlaces &places) {
    return dist::flatTypeOf(cast<RankedTensorType>(part), places.padded, dist::layoutOf(part).partialAxes(), {}, mesh);
  }

  /// A bucket for each use of the members' gradients, and for each further node of their sums.
  SmallVector<BucketOp> declareGradients(OpBuilder &builder, const BucketGroup &group, const std::string &name,
                                         const FlatPlaces &places) {
    const TrainedParameter &first = group.members.front();
    Location loc = ParameterOp(first.parameter).getLoc();
    SmallVector<BucketOp> declared;
    auto declareSums = [&](const std::string &bucketName, ArrayRef<StateOp> states) {
      SmallVector<Attribute> members;
      for (StateOp state : states)
        members.push_back(FlatSymbolRefAttr::get(state.getSymNameAttr()));
      StateOp state = states.front();
      declared.push_back(BucketOp::create(builder, loc, bucketName, flatTypeOf(state.getType(), places),
                                          builder.getArrayAttr(members), places.offsets));
    };
    auto declareNodes = [&](const std::string &bucketName, size_t use) {
      for (size_t i = 0; i < first.nodes[use].size(); ++i)
        declareSums(
            bucketName + ".carry." + std::to_string(i),
            llvm::map_to_vector(group.members, [&](const TrainedParameter &member) { return member.nodes[use][i]; }));
    };
    declareSums(name, llvm::map_to_vector(group.members, [](const TrainedParameter &m) { return m.gradient; }));
    declareNodes(name, 0);
    for (auto [use, more] : llvm::enumerate(first.moreGradients)) { // then it is the only member
      std::string useName = name + ".use." + std::to_string(use + 1);
      declareSums(useName, more);
      declareNodes(useName, use + 1);
    }
    return declared;
  }

  static void clear(ArrayRef<BucketOp> buckets, func::FuncOp begin) {
    OpBuilder builder(begin.getBody().front().getTerminator());
    for (BucketOp bucket : buckets) {
      Value zero = FillOp::create(builder, bucket.getLoc(), bucket.getType(), builder.getF64FloatAttr(0.0));
      WriteOp::create(builder, bucket.getLoc(), zero, bucket.getSymName());
    }
  }

  dist::MeshOp mesh;
};

} // namespace
