//===- ShardParameters.cpp - each rank keeps its piece of the parameters ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When does a rank need the parameters of which it keeps a piece? While it runs the
// layer that uses them, forward and backward (ZeRO stage 3):
//
//   %a = tgpt.read @a   ->   %0 = tgpt.read @zero...parameter     (this rank's piece)
//                            %1 = dist.all_gather %0
//                            %a = dist.unpack %1
//
// before the first use in each layer and direction, or before the layer that comes
// `prefetch` earlier; the gathered copy is dead after the last use.
//
// Relies on: zero-shard-optimizer. Leaves true: parameter buckets are cut into pieces
// and used as a whole.
//
//===----------------------------------------------------------------------===//

#include "passes/zero/BucketFamilies.h"
#include "passes/zero/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tgpt {
#define GEN_PASS_DEF_SHARDPARAMETERS
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// Uses of a bucket's parameters that share a gathered copy: one layer, one direction.
struct GatherSite {
  Operation *first = nullptr;                              ///< in block order
  llvm::MapVector<int64_t, SmallVector<OpOperand *>> uses; ///< by the member's index
};

/// Where each layer begins, in the order in which a direction runs them.
class LayerStarts {
public:
  void add(Operation &op) {
    if (isa<ReadOp, BeginBackwardOp>(op)) // reads are replaced, and nothing of the backward may stand before its mark
      return;
    if (Attribute layer = op.getAttr(layerAttributeName); layer && places.try_emplace(layer, starts.size()).second)
      starts.push_back(&op);
  }
  /// The op that begins the layer `distance` before `layer`, or the first of all.
  Operation *before(Attribute layer, int64_t distance) const {
    return starts[std::max<int64_t>(places.lookup(layer) - distance, 0)];
  }

private:
  SmallVector<Operation *> starts;
  llvm::DenseMap<Attribute, int64_t> places;
};

class ParameterSharding {
public:
  ParameterSharding(BucketedProgram program, int64_t prefetch)
      : program(std::move(program)), prefetch(prefetch), inMicroBatch(this->program.microBatch),
        inUpdate(this->program.update) {
    for (Operation &op : this->program.microBatch.getBody().front()) {
      if (auto mark = dyn_cast<BeginBackwardOp>(op))
        backwardBegins = mark;
      layers[bool(backwardBegins)].add(op);
    }
  }

  LogicalResult run() {
    for (BucketFamily &family : program.families)
      if (failed(shard(family)))
        return failure();
    return success();
  }
  int64_t countGathers() const { return gathers; }
  int64_t countAhead() const { return gathersAhead; }

private:
  LogicalResult shard(BucketFamily &family);
  LogicalResult retypeUpdate(BucketFamily &family, RankedTensorType piece);
  void gatherInMicroBatch(BucketFamily &family, RankedTensorType flat, RankedTensorType piece);
  void gather(BucketFamily &family, GatherSite &site, RankedTensorType flat, RankedTensorType piece);
  Operation *placeFor(const GatherSite &site) const;

  BucketedProgram program;
  int64_t prefetch;
  LayerStarts layers[2]; ///< forward, backward
  SymbolUses inMicroBatch, inUpdate;
  BeginBackwardOp backwardBegins;
  int64_t gathers = 0, gathersAhead = 0;
};

} // namespace

/// The update reads and writes pieces where it sliced and gathered.
LogicalResult ParameterSharding::retypeUpdate(BucketFamily &family, RankedTensorType piece) {
  StringAttr symbol = family.parameters.getSymNameAttr();
  auto refuse = [&](Operation *op) {
    return op->emitError() << "uses parameter bucket '@" << symbol.getValue()
                           << "' otherwise than zero-shard-optimizer leaves it";
  };
  for (ReadOp read : inUpdate.readsOf(symbol)) {
    OpBuilder builder(read);
    Value kept = ReadOp::create(builder, read.getLoc(), piece, read.getSymbol());
    for (Operation *user : llvm::make_early_inc_range(read->getUsers())) {
      auto slice = dyn_cast<dist::SliceOp>(user);
      if (!slice || slice.getOutput().getType() != piece)
        return refuse(user);
      slice.getOutput().replaceAllUsesWith(kept);
      slice.erase();
    }
    read.erase();
  }
  for (WriteOp write : inUpdate.writesOf(symbol)) {
    auto gather = write.getValue().getDefiningOp<dist::AllGatherOp>();
    if (!gather || gather.getInput().getType() != piece)
      return refuse(write);
    write.getValueMutable().assign(gather.getInput());
    if (gather->use_empty())
      gather.erase();
  }
  return success();
}

/// The op before which the parameters of a site are gathered.
Operation *ParameterSharding::placeFor(const GatherSite &site) const {
  Attribute layer = site.first->getAttr(layerAttributeName);
  if (prefetch == 0 || !layer)
    return site.first;
  bool isBackward = backwardBegins && BeginBackwardOp(backwardBegins)->isBeforeInBlock(site.first);
  return layers[isBackward].before(layer, prefetch);
}

void ParameterSharding::gather(BucketFamily &family, GatherSite &site, RankedTensorType flat, RankedTensorType piece) {
  Operation *place = placeFor(site);
  gathersAhead += place->getAttr(layerAttributeName) != site.first->getAttr(layerAttributeName);
  OpBuilder builder(place);
  Location loc = site.first->getLoc();
  SmallVector<Type> types;
  SmallVector<int64_t> offsets;
  for (auto &[member, uses] : site.uses) {
    types.push_back(uses.front()->get().getType());
    offsets.push_back(family.parameters.getOffsets()[member]);
  }
  Value kept = ReadOp::create(builder, loc, piece, family.parameters.getSymName());
  auto all = dist::AllGatherOp::create(builder, loc, flat, kept, family.lastDim(), pieceAxes(builder));
  builder.setInsertionPoint(site.first);
  auto parts = dist::UnpackOp::create(builder, loc, types, all.getOutput(), offsets);
  if (Attribute layer = site.first->getAttr(layerAttributeName))
    for (Operation *op : {kept.getDefiningOp(), all.getOperation(), parts.getOperation()})
      op->setAttr(layerAttributeName, layer);
  for (auto [entry, part] : llvm::zip_equal(site.uses, parts.getOutputs()))
    for (OpOperand *use : entry.second)
      use->set(part);
  ++gathers;
}

void ParameterSharding::gatherInMicroBatch(BucketFamily &family, RankedTensorType flat, RankedTensorType piece) {
  llvm::MapVector<std::pair<int, Attribute>, GatherSite> sites;
  SmallVector<ReadOp> reads;
  for (auto [index, member] : llvm::enumerate(family.members))
    for (ReadOp read : inMicroBatch.readsOf(member)) {
      reads.push_back(read);
      for (OpOperand &use : read.getValue().getUses()) {
        Operation *user = use.getOwner();
        int isBackward = backwardBegins && backwardBegins->isBeforeInBlock(user);
        GatherSite &site = sites[{isBackward, user->getAttr(layerAttributeName)}];
        if (!site.first || user->isBeforeInBlock(site.first))
          site.first = user;
        site.uses[index].push_back(&use);
      }
    }
  for (auto &[place, site] : sites)
    gather(family, site, flat, piece);
  for (ReadOp read : reads)
    read.erase();
}

LogicalResult ParameterSharding::shard(BucketFamily &family) {
  RankedTensorType flat = family.parameterType();
  if (!dist::pieceAxesOf(flat).empty())
    return family.parameters.emitError("bucket is cut into pieces already");
  RankedTensorType piece = pieceTypeOf(flat, program.mesh);
  family.parameters.setType(piece);
  if (failed(retypeUpdate(family, piece)))
    return failure();
  gatherInMicroBatch(family, flat, piece);
  return success();
}

namespace {

struct ShardParametersPass : tgpt::impl::ShardParametersBase<ShardParametersPass> {
  using ShardParametersBase::ShardParametersBase;

  void runOnOperation() override {
    FailureOr<BucketedProgram> program = BucketedProgram::of(getOperation());
    if (failed(program))
      return signalPassFailure();
    if (prefetch < 0) {
      getOperation().emitError() << "option 'prefetch' is " << prefetch.getValue() << ", expected at least 0";
      return signalPassFailure();
    }
    ParameterSharding sharding(*program, prefetch);
    if (failed(sharding.run()))
      return signalPassFailure();
    numGathers += sharding.countGathers();
    numAhead += sharding.countAhead();
  }
};

} // namespace
