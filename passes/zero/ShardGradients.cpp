//===- ShardGradients.cpp - each rank keeps its piece of the gradients ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What of a gradient outlives a micro-batch? This rank's piece of its bucket, summed
// over the ranks (ZeRO stage 2):
//
//   accumulate %da, @a.gradient       %0 = dist.pack %da, %db
//   accumulate %db, @b.gradient   ->  %1 = dist.reduce_scatter %0
//                                     accumulate %1, @zero...gradient
//
// The pack stands where the last of its gradients is added, so a bucket of one layer
// is alive during that layer's backward only.
//
// Relies on: zero-shard-optimizer. Leaves true: gradient buckets are cut into pieces and
// used as a whole.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageLayers.h"
#include "passes/pipeline/SumOps.h"
#include "passes/zero/BucketFamilies.h"
#include "passes/zero/Passes.h"
#include <set>

namespace tgpt {
#define GEN_PASS_DEF_SHARDGRADIENTS
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

class GradientSharding {
public:
  GradientSharding(BucketedProgram program, StageLayers cut)
      : program(std::move(program)), cut(std::move(cut)), inBegin(this->program.begin),
        inMicroBatch(this->program.microBatch), inUpdate(this->program.update) {}

  LogicalResult run() {
    for (BucketFamily &family : program.families)
      if (failed(shard(family)))
        return failure();
    return success();
  }
  int64_t countReduceScatters() const { return reduceScatters; }

private:
  LogicalResult shard(BucketFamily &family);
  LogicalResult shard(BucketOp bucket);
  LogicalResult retypeClear(BucketOp bucket, RankedTensorType piece);
  LogicalResult retypeUpdate(BucketOp bucket, RankedTensorType piece);
  LogicalResult reduceInMicroBatch(BucketOp bucket, RankedTensorType flat, RankedTensorType piece);
  void reduceAlone(BucketOp bucket, AccumulateOp accumulate, RankedTensorType flat, RankedTensorType piece);
  void reduce(OpBuilder &builder, BucketOp bucket, ValueRange gradients, ArrayRef<int64_t> offsets, Operation *last,
              RankedTensorType flat, RankedTensorType piece);
  /// The virtual stage of an op; -1 where its layer is not known.
  int64_t stageOf(Operation *op) const {
    auto layer = op ? op->getAttrOfType<IntegerAttr>(layerAttributeName) : IntegerAttr();
    return layer ? cut.virtualStageOf(layer.getInt()) : -1;
  }

  BucketedProgram program;
  StageLayers cut;
  SymbolUses inBegin, inMicroBatch, inUpdate;
  bool isCanonical = addsCanonically(program.microBatch); ///< sums are trees
  int64_t reduceScatters = 0;
};

} // namespace

LogicalResult GradientSharding::retypeClear(BucketOp bucket, RankedTensorType piece) {
  for (WriteOp write : inBegin.writesOf(bucket.getSymNameAttr())) {
    auto fill = write.getValue().getDefiningOp<FillOp>();
    if (!fill)
      return write.emitError("clears a gradient bucket with something else than a tgpt.fill");
    OpBuilder builder(write);
    write.getValueMutable().assign(FillOp::create(builder, fill.getLoc(), piece, fill.getValueAttr()));
    if (fill->use_empty())
      fill.erase();
  }
  return success();
}

/// The update reads pieces where it reduced to them.
LogicalResult GradientSharding::retypeUpdate(BucketOp bucket, RankedTensorType piece) {
  for (ReadOp read : inUpdate.readsOf(bucket.getSymNameAttr())) {
    OpBuilder builder(read);
    Value kept = ReadOp::create(builder, read.getLoc(), piece, read.getSymbol());
    for (Operation *user : llvm::make_early_inc_range(read->getUsers())) {
      auto scatter = dyn_cast<dist::ReduceScatterOp>(user);
      if (!scatter || scatter.getOutput().getType() != piece)
        return user->emitError() << "uses gradient bucket '@" << read.getSymbol()
                                 << "' otherwise than zero-shard-optimizer leaves it";
      scatter.getOutput().replaceAllUsesWith(kept);
      scatter.erase();
    }
    read.erase();
  }
  return success();
}

/// Packs and reduces `gradients` where `last` is, in its layer.
void GradientSharding::reduce(OpBuilder &builder, BucketOp bucket, ValueRange gradients, ArrayRef<int64_t> offsets,
                              Operation *last, RankedTensorType flat, RankedTensorType piece) {
  Location loc = last->getLoc();
  auto pack = dist::PackOp::create(builder, loc, flat, gradients, offsets);
  auto scatter = dist::ReduceScatterOp::create(builder, loc, piece, pack.getOutput(), flat.getRank() - 1,
                                               pieceAxes(builder), isCanonical);
  auto add = AccumulateOp::create(builder, loc, scatter.getOutput(), bucket.getSymName());
  if (Attribute layer = last->getAttr(layerAttributeName))
    for (Operation *op : {pack.getOperation(), scatter.getOperation(), add.getOperation()})
      op->setAttr(layerAttributeName, layer);
  ++reduceScatters;
}

/// The only member of its bucket may be used by several layers. What each adds is reduced
/// at once, so that no gradient waits for the others; a sum of gradients of several virtual
/// stages is taken apart, each adding to its stage's copy of the state.
void GradientSharding::reduceAlone(BucketOp bucket, AccumulateOp accumulate, RankedTensorType flat,
                                   RankedTensorType piece) {
  SmallVector<Operation *> sums;
  SmallVector<Value> addends = addendsOf(accumulate.getValue(), sums);
  std::set<int64_t> stages;
  for (Value addend : addends)
    stages.insert(stageOf(addend.getDefiningOp()));
  OpBuilder builder(accumulate);
  if (stages.size() < 2) {
    reduce(builder, bucket, accumulate.getValue(), bucket.getOffsets(), accumulate, flat, piece);
    sums.clear();
  } else {
    for (Value addend : addends) {
      builder.setInsertionPointAfter(addend.getDefiningOp());
      reduce(builder, bucket, addend, bucket.getOffsets(), addend.getDefiningOp(), flat, piece);
    }
  }
  sums.insert(sums.begin(), accumulate);
  for (Operation *op : sums)
    op->erase();
}

LogicalResult GradientSharding::reduceInMicroBatch(BucketOp bucket, RankedTensorType flat, RankedTensorType piece) {
  SmallVector<AccumulateOp> found;
  SmallVector<int64_t> offsets;
  for (auto [member, offset] :
       llvm::zip_equal(bucket.getMembers().getAsRange<FlatSymbolRefAttr>(), bucket.getOffsets())) {
    SmallVector<AccumulateOp> all = inMicroBatch.accumulationsOf(member.getAttr());
    for (AccumulateOp accumulate : all)
      if (accumulate.getCarries())
        return accumulate.emitError() << "adds up micro-batches in a tree, in which they come before the sum over \""
                                      << pieceAxis << "\", so whole gradients are kept: leave this pass out";
    if (bucket.getMembers().size() == 1) {
      for (AccumulateOp accumulate : all)
        reduceAlone(bucket, accumulate, flat, piece);
      return success();
    }
    if (all.size() > 1)
      return all[1].emitError() << "adds to gradient '@" << member.getValue() << "' a second time";
    if (all.empty()) // never used: its part stays zero
      continue;
    found.push_back(all.front());
    offsets.push_back(offset);
  }
  if (found.empty())
    return success();
  AccumulateOp last = found.front();
  SmallVector<Value> gradients;
  for (AccumulateOp accumulate : found) {
    gradients.push_back(accumulate.getValue());
    if (last->isBeforeInBlock(accumulate))
      last = accumulate;
  }
  OpBuilder builder(last);
  reduce(builder, bucket, gradients, offsets, last, flat, piece);
  for (AccumulateOp accumulate : found)
    accumulate.erase();
  return success();
}

LogicalResult GradientSharding::shard(BucketOp bucket) {
  auto flat = cast<RankedTensorType>(bucket.getType());
  if (!dist::pieceAxesOf(flat).empty())
    return bucket.emitError("bucket is cut into pieces already");
  RankedTensorType piece = pieceTypeOf(flat, program.mesh);
  bucket.setType(piece);
  return success(succeeded(retypeClear(bucket, piece)) && succeeded(retypeUpdate(bucket, piece)) &&
                 succeeded(reduceInMicroBatch(bucket, flat, piece)));
}

LogicalResult GradientSharding::shard(BucketFamily &family) {
  for (BucketOp bucket : family.allGradients())
    if (failed(shard(bucket)))
      return failure();
  return success();
}

namespace {

struct ShardGradientsPass : tgpt::impl::ShardGradientsBase<ShardGradientsPass> {
  void runOnOperation() override {
    FailureOr<BucketedProgram> program = BucketedProgram::of(getOperation());
    FailureOr<int64_t> stageCount = failed(program) ? FailureOr<int64_t>(failure()) : countStages(getOperation());
    if (failed(stageCount))
      return signalPassFailure();
    FailureOr<StageLayers> cut = readStages(getOperation(), *stageCount, countLayers(program->microBatch));
    if (failed(cut))
      return signalPassFailure();
    GradientSharding sharding(*program, *cut);
    if (failed(sharding.run()))
      return signalPassFailure();
    numReduceScatters += sharding.countReduceScatters();
  }
};

} // namespace
