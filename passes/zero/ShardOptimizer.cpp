//===- ShardOptimizer.cpp - each rank updates its piece ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who keeps the optimizer states of a parameter that all data-parallel ranks have?
// Each a piece of its bucket (ZeRO stage 1):
//
//   all_reduce, adamw of every parameter
//     -> reduce_scatter, adamw of the piece, all_gather of every bucket
//
// Relies on: zero-form-buckets and the update of tgpt-add-optimizer, partitioned.
// Where sums are trees (canonical reduction) the norm stays that of whole gradients, whose
// order of additions no piece has: they are gathered for it, a bucket at a time.
//
// Leaves true: every bucket of gradients is read once in the update, by a
// reduce_scatter; every bucket of parameters is written once, by an all_gather, and
// read by a slice where there are no master copies.
//
//===----------------------------------------------------------------------===//

#include "passes/zero/OptimizerSharding.h"
#include "passes/zero/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_SHARDOPTIMIZER
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

StringAttr tgpt::symbolRead(Value value) {
  if (auto join = value.getDefiningOp<JoinNodesOp>()) // the first node is in the state itself
    value = join.getNodes().front();
  auto read = value.getDefiningOp<ReadOp>();
  return read ? read.getSymbolAttr().getAttr() : StringAttr();
}

//===----------------------------------------------------------------------===//
// What the update does now
//===----------------------------------------------------------------------===//

LogicalResult OptimizerSharding::findUpdates() {
  llvm::DenseMap<StringAttr, StateOp> states;
  for (auto state : module.getOps<StateOp>())
    states[state.getSymNameAttr()] = state;
  for (auto write : program.update.getOps<WriteOp>()) {
    auto adamw = write.getValue().getDefiningOp<AdamWOp>();
    if (!adamw || write.getValue() != adamw.getNewParameter())
      continue;
    StringAttr target = write.getSymbolAttr().getAttr();
    StateOp master = states.lookup(target);
    StringAttr parameter = master && master.getParameterAttr() ? master.getParameterAttr().getAttr() : target;
    ParameterUpdate update{adamw, symbolRead(adamw.getMoment1()), symbolRead(adamw.getMoment2()),
                           master ? target : StringAttr()};
    if (!update.moment1 || !update.moment2)
      return adamw.emitError("has moments that are not read from states");
    if (!updates.insert({parameter, update}).second)
      return write.emitError() << "is a second update of '@" << parameter.getValue() << "'";
  }
  return success();
}

/// The bucket of the states of a family, cut into pieces.
BucketOp OptimizerSharding::declareStates(OpBuilder &builder, BucketFamily &family, StringRef suffix,
                                          ArrayRef<Attribute> members) {
  // Like the gradients, whose element type they have, but never partial.
  RankedTensorType like = family.gradientType();
  dist::LayoutAttr layout = dist::layoutOf(like).withPartial({});
  RankedTensorType piece = pieceTypeOf(dist::withLayout(like, layout), program.mesh);
  return BucketOp::create(builder, family.parameters.getLoc(), family.name() + suffix.str(), piece,
                          builder.getArrayAttr(members), family.parameters.getOffsets());
}

LogicalResult OptimizerSharding::addBucket(BucketFamily family) {
  SmallVector<Attribute> moment1, moment2, master;
  AdamWOp pattern;
  for (StringAttr member : family.members) {
    auto found = updates.find(member);
    if (found == updates.end())
      return family.parameters.emitError() << "parameter '@" << member.getValue() << "' is not updated by a tgpt.adamw";
    ParameterUpdate update = found->second;
    if (!pattern)
      pattern = update.adamw;
    if (pattern->getAttrDictionary() != update.adamw->getAttrDictionary()) {
      InFlightDiagnostic error = family.parameters.emitError()
                                 << "parameters of the bucket are updated with different constants";
      error.attachNote(pattern.getLoc()) << "one is here";
      error.attachNote(update.adamw.getLoc()) << "another is here";
      return error;
    }
    moment1.push_back(FlatSymbolRefAttr::get(update.moment1));
    moment2.push_back(FlatSymbolRefAttr::get(update.moment2));
    if (update.master)
      master.push_back(FlatSymbolRefAttr::get(update.master));
  }
  if (!master.empty() && master.size() != family.members.size())
    return family.parameters.emitError() << master.size() << " of " << family.members.size()
                                         << " members have a master copy";
  OpBuilder builder(family.gradients);
  builder.setInsertionPointAfter(family.gradients);
  BucketUpdate &bucket = buckets.emplace_back(BucketUpdate{family, pattern, {}, {}, {}, {}});
  bucket.moment1 = declareStates(builder, family, ".moment1", moment1);
  bucket.moment2 = declareStates(builder, family, ".moment2", moment2);
  if (!master.empty())
    bucket.master = declareStates(builder, family, ".master", master);
  return success();
}

FailureOr<ClipScaleOp> OptimizerSharding::findClip() {
  SmallVector<ClipScaleOp> clips(program.update.getOps<ClipScaleOp>());
  if (clips.size() == 1)
    return clips.front();
  return program.update.emitError() << "has " << clips.size() << " tgpt.clip_scale, expected one";
}

//===----------------------------------------------------------------------===//
// The step of the pieces
//===----------------------------------------------------------------------===//

void OptimizerSharding::moveBucket(OpBuilder &builder, BucketUpdate &bucket, Value scale) {
  BucketFamily &family = bucket.family;
  Location loc = family.parameters.getLoc();
  RankedTensorType flat = family.parameterType(), piece = pieceTypeOf(flat, program.mesh);
  int64_t dim = family.lastDim();
  auto read = [&](BucketOp from) -> Value {
    return ReadOp::create(builder, loc, cast<RankedTensorType>(from.getType()), from.getSymName());
  };
  Value old = read(bucket.master ? bucket.master : family.parameters);
  if (!bucket.master)
    old = dist::SliceOp::create(builder, loc, piece, old, dim, pieceAxes(builder));
  Value moment1 = read(bucket.moment1), moment2 = read(bucket.moment2);
  Value operands[] = {
      old, bucket.gradient, moment1, moment2, scale, bucket.pattern.getLearningRate(), bucket.pattern.getStep()};
  Type type = old.getType();
  auto adamw = AdamWOp::create(builder, loc, {type, type, type}, operands, bucket.pattern->getAttrs());
  WriteOp::create(builder, loc, adamw.getNewMoment1(), bucket.moment1.getSymName());
  WriteOp::create(builder, loc, adamw.getNewMoment2(), bucket.moment2.getSymName());
  Value moved = adamw.getNewParameter();
  if (bucket.master) {
    WriteOp::create(builder, loc, moved, bucket.master.getSymName());
    moved = CastOp::create(builder, loc, piece, moved);
  }
  Value all = dist::AllGatherOp::create(builder, loc, flat, moved, dim, pieceAxes(builder));
  WriteOp::create(builder, loc, all, family.parameters.getSymName());
}

void OptimizerSharding::eraseOldUpdates() {
  SymbolUses uses(program.update);
  for (auto &[parameter, update] : updates)
    for (StringAttr symbol : {parameter, update.moment1, update.moment2, update.master})
      if (symbol)
        for (WriteOp write : uses.writesOf(symbol))
          write.erase();
  eraseUnused(program.update);
}

LogicalResult OptimizerSharding::run() {
  FailureOr<ClipScaleOp> clip = findClip();
  if (failed(clip) || failed(findUpdates()))
    return failure();
  for (BucketFamily &family : program.families)
    if (failed(addBucket(family)))
      return failure();
  if (!isCanonical)
    takeNormOfPieces(*clip);
  else
    for (BucketUpdate &bucket : buckets)
      if (failed(gatherForNorm(bucket)))
        return failure();
  OpBuilder builder(program.update.getBody().front().getTerminator());
  for (BucketUpdate &bucket : buckets)
    moveBucket(builder, bucket, (*clip).getScale());
  eraseOldUpdates();
  return success();
}

namespace {

struct ShardOptimizerPass : tgpt::impl::ShardOptimizerBase<ShardOptimizerPass> {
  void runOnOperation() override {
    FailureOr<BucketedProgram> program = BucketedProgram::of(getOperation());
    if (failed(program))
      return signalPassFailure();
    OptimizerSharding sharding(getOperation(), *program);
    if (failed(sharding.run()))
      return signalPassFailure();
    numUpdates += sharding.countBuckets();
    numReplaced += sharding.countReplaced();
  }
};

} // namespace
