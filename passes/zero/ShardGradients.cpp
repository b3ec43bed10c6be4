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
  LogicalResult retypeClear(BucketFamily &family, RankedTensorType piece);
  LogicalResult retypeUpdate(BucketFamily &family, RankedTensorType piece);
  LogicalResult reduceInMicroBatch(BucketFamily &family, RankedTensorType flat, RankedTensorType piece);
  void reduceAlone(BucketFamily &family, AccumulateOp accumulate, RankedTensorType flat, RankedTensorType piece);
  void reduce(OpBuilder &builder, BucketFamily &family, ValueRange gradients, ArrayRef<int64_t> offsets,
              Operation *last, RankedTensorType flat, RankedTensorType piece);
  int64_t stageOf(Operation *op) const {
    auto layer = op ? op->getAttrOfType<IntegerAttr>(layerAttributeName) : IntegerAttr();
    return layer ? cut.stageOf(layer.getInt()) : -1;
  }

  BucketedProgram program;
  StageLayers cut;
  SymbolUses inBegin, inMicroBatch, inUpdate;
  int64_t reduceScatters = 0;
};

} // namespace

LogicalResult GradientSharding::retypeClear(BucketFamily &family, RankedTensorType piece) {
  for (WriteOp write : inBegin.writesOf(family.gradients.getSymNameAttr())) {
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
LogicalResult GradientSharding::retypeUpdate(BucketFamily &family, RankedTensorType piece) {
  for (ReadOp read : inUpdate.readsOf(family.gradients.getSymNameAttr())) {
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
void GradientSharding::reduce(OpBuilder &builder, BucketFamily &family, ValueRange gradients, ArrayRef<int64_t> offsets,
                              Operation *last, RankedTensorType flat, RankedTensorType piece) {
  Location loc = last->getLoc();
  auto pack = dist::PackOp::create(builder, loc, flat, gradients, offsets);
  auto scatter = dist::ReduceScatterOp::create(builder, loc, piece, pack.getOutput(), family.lastDim(),
                                               builder.getStrArrayAttr({pieceAxis}));
  auto add = AccumulateOp::create(builder, loc, scatter.getOutput(), family.gradients.getSymName());
  if (Attribute layer = last->getAttr(layerAttributeName))
    for (Operation *op : {pack.getOperation(), scatter.getOperation(), add.getOperation()})
      op->setAttr(layerAttributeName, layer);
  ++reduceScatters;
}

/// The only member of its bucket may be used by several layers. What each adds is reduced
/// at once, so that no gradient waits for the others; a sum of gradients of several
/// stages is taken apart, each stage adding to its own copy of the state.
void GradientSharding::reduceAlone(BucketFamily &family, AccumulateOp accumulate, RankedTensorType flat,
                                   RankedTensorType piece) {
  SmallVector<Operation *> sums;
  SmallVector<Value> addends = addendsOf(accumulate.getValue(), sums);
  std::set<int64_t> stages;
  for (Value addend : addends)
    stages.insert(stageOf(addend.getDefiningOp()));
  OpBuilder builder(accumulate);
  if (stages.size() < 2) {
    reduce(builder, family, accumulate.getValue(), family.gradients.getOffsets(), accumulate, flat, piece);
    sums.clear();
  } else {
    for (Value addend : addends) {
      builder.setInsertionPointAfter(addend.getDefiningOp());
      reduce(builder, family, addend, family.gradients.getOffsets(), addend.getDefiningOp(), flat, piece);
    }
  }
  sums.insert(sums.begin(), accumulate);
  for (Operation *op : sums)
    op->erase();
}

LogicalResult GradientSharding::reduceInMicroBatch(BucketFamily &family, RankedTensorType flat,
                                                   RankedTensorType piece) {
  SmallVector<AccumulateOp> found;
  SmallVector<int64_t> offsets;
  for (auto [member, offset] :
       llvm::zip_equal(family.gradients.getMembers().getAsRange<FlatSymbolRefAttr>(), family.gradients.getOffsets())) {
    SmallVector<AccumulateOp> all = inMicroBatch.accumulationsOf(member.getAttr());
    if (family.members.size() == 1) {
      for (AccumulateOp accumulate : all)
        reduceAlone(family, accumulate, flat, piece);
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
  reduce(builder, family, gradients, offsets, last, flat, piece);
  for (AccumulateOp accumulate : found)
    accumulate.erase();
  return success();
}

LogicalResult GradientSharding::shard(BucketFamily &family) {
  RankedTensorType flat = family.gradientType();
  if (!dist::pieceAxesOf(flat).empty())
    return family.gradients.emitError("bucket is cut into pieces already");
  RankedTensorType piece = pieceTypeOf(flat, program.mesh);
  family.gradients.setType(piece);
  return success(succeeded(retypeClear(family, piece)) && succeeded(retypeUpdate(family, piece)) &&
                 succeeded(reduceInMicroBatch(family, flat, piece)));
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
