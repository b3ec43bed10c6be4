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

#include "cost/SumNodes.h"
#include "passes/zero/BucketFamilies.h"
#include "passes/zero/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tgpt {
#define GEN_PASS_DEF_SHARDOPTIMIZER
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// How the update moves one parameter.
struct Update {
  AdamWOp adamw;
  StringAttr moment1, moment2;
  StringAttr master; ///< null where AdamW moves the parameter itself
};

/// A bucket while its update is written.
struct BucketUpdate {
  BucketFamily family;
  AdamWOp pattern; ///< of its first parameter, for the constants
  BucketOp moment1, moment2, master;
  Value gradient; ///< this rank's piece
};

class OptimizerSharding {
public:
  OptimizerSharding(ModuleOp module, BucketedProgram program) : module(module), program(std::move(program)) {}

  LogicalResult run();
  int64_t countBuckets() const { return buckets.size(); }
  int64_t countReplaced() const { return updates.size(); }

private:
  LogicalResult findUpdates();
  LogicalResult addBucket(BucketFamily family);
  BucketOp declareStates(OpBuilder &builder, BucketFamily &family, StringRef suffix, ArrayRef<Attribute> members);
  FailureOr<ClipScaleOp> findClip();
  Value reduce(OpBuilder &builder, BucketFamily &family, BucketOp gradients);
  Value pieceOfWholeSum(OpBuilder &builder, Value partial, int64_t dim);
  Value sumOfUses(OpBuilder &builder, BucketFamily &family, Value whole);
  Value squaresOf(OpBuilder &builder, BucketUpdate &bucket);
  LogicalResult gatherForNorm(BucketUpdate &bucket);
  void takeNormOfPieces(ClipScaleOp clip);
  Value sumOfSquares(OpBuilder &builder, Location loc);
  void moveBucket(OpBuilder &builder, BucketUpdate &bucket, Value scale);
  void eraseOldUpdates();

  ModuleOp module;
  BucketedProgram program;
  bool isCanonical = addsCanonically(module);  ///< sums are trees
  llvm::MapVector<StringAttr, Update> updates; ///< by parameter
  SmallVector<BucketUpdate> buckets;
};

} // namespace

static ArrayAttr pieceAxes(OpBuilder &builder) {
  return builder.getStrArrayAttr({pieceAxis});
}

//===----------------------------------------------------------------------===//
// What the update does now
//===----------------------------------------------------------------------===//

static StringAttr symbolRead(Value value) {
  if (auto join = value.getDefiningOp<JoinNodesOp>()) // the first node is in the state itself
    value = join.getNodes().front();
  auto read = value.getDefiningOp<ReadOp>();
  return read ? read.getSymbolAttr().getAttr() : StringAttr();
}

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
    Update update{adamw, symbolRead(adamw.getMoment1()), symbolRead(adamw.getMoment2()),
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
    Update update = found->second;
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
// The norm of the pieces
//===----------------------------------------------------------------------===//

/// This rank's piece of a bucket of gradients, summed.
Value OptimizerSharding::reduce(OpBuilder &builder, BucketFamily &family, BucketOp gradients) {
  Location loc = gradients.getLoc();
  RankedTensorType flat = family.gradientType(), type = pieceTypeOf(flat, program.mesh);
  ArrayRef<BucketOp> nodes = program.nodes[gradients.getSymNameAttr()];
  Value all = readPartialSum(builder, gradients, nodes, program.addends);
  dist::LayoutAttr layout = dist::layoutOf(type);
  int64_t pieces = program.mesh.sizeOf(pieceAxis);
  if (isCanonical && layout.isPartial() && (!nodes.empty() || withoutPowersOfTwo(pieces) != 1))
    return pieceOfWholeSum(builder, all, family.lastDim());
  Value piece =
      dist::ReduceScatterOp::create(builder, loc, type, all, family.lastDim(), pieceAxes(builder), isCanonical);
  if (!layout.isPartial())
    return piece;
  // Groups that hold the same; norms under sequence parallelism.
  return dist::AllReduceOp::create(builder, loc, dist::withLayout(type, layout.withPartial({})),
                                   dist::ReductionKind::Sum, piece, layout.getPartial(), DenseI64ArrayAttr(),
                                   isCanonical);
}

/// Where the ranks of a group hold no node of the tree of additions, there is no sum of theirs: all groups add at once.
Value OptimizerSharding::pieceOfWholeSum(OpBuilder &builder, Value partial, int64_t dim) {
  auto type = cast<RankedTensorType>(partial.getType());
  dist::LayoutAttr layout = dist::layoutOf(type);
  RankedTensorType whole = dist::withLayout(type, layout.withPartial({}));
  dist::LayoutAttr::Axes axes;
  for (StringRef axis : program.mesh.getAxes().getAsValueRange<StringAttr>())
    if (layout.isPartialOver(axis))
      axes.push_back(axis);
  Value sum = dist::AllReduceOp::create(builder, partial.getLoc(), whole, dist::ReductionKind::Sum, partial,
                                        builder.getStrArrayAttr(axes), DenseI64ArrayAttr(), /*tree=*/true);
  RankedTensorType piece = pieceTypeOf(whole, program.mesh);
  return dist::SliceOp::create(builder, partial.getLoc(), piece, sum, dim, pieceAxes(builder));
}

/// The pieces of a weight's uses, added as their whole gradients are in `whole`; null where
/// that is something else.
Value OptimizerSharding::sumOfUses(OpBuilder &builder, BucketFamily &family, Value whole) {
  if (auto add = whole.getDefiningOp<AddOp>()) {
    Value lhs = sumOfUses(builder, family, add.getLhs()), rhs = sumOfUses(builder, family, add.getRhs());
    return lhs && rhs ? AddOp::create(builder, add.getLoc(), lhs.getType(), lhs, rhs).getOutput() : Value();
  }
  while (auto sum = whole.getDefiningOp<dist::AllReduceOp>())
    whole = sum.getInput();
  StringAttr symbol = symbolRead(whole);
  for (BucketOp gradients : family.allGradients())
    if (symbol == cast<FlatSymbolRefAttr>(gradients.getMembers()[0]).getAttr())
      return reduce(builder, family, gradients);
  return {};
}

/// Whole gradients of a bucket for the norm, which goes on as it was.
LogicalResult OptimizerSharding::gatherForNorm(BucketUpdate &bucket) {
  BucketFamily &family = bucket.family;
  SmallVector<Value> old;
  SmallVector<Type> types;
  Operation *first = nullptr;
  for (StringAttr member : family.members) {
    Value gradient = updates.find(member)->second.adamw.getGradient();
    old.push_back(gradient);
    types.push_back(gradient.getType());
    for (Operation *user : gradient.getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
  }
  OpBuilder builder(first);
  Location loc = family.gradients.getLoc();
  bucket.gradient = family.moreGradients.empty() ? reduce(builder, family, family.gradients)
                                                 : sumOfUses(builder, family, old.front());
  if (!bucket.gradient)
    return bucket.pattern.emitError("has a gradient that is not the sum of those of the weight's uses");
  RankedTensorType flat =
      dist::withLayout(family.gradientType(), dist::layoutOf(family.gradientType()).withPartial({}));
  auto all = dist::AllGatherOp::create(builder, loc, flat, bucket.gradient, family.lastDim(), pieceAxes(builder));
  auto parts = dist::UnpackOp::create(builder, loc, types, all.getOutput(), family.gradients.getOffsets());
  for (auto [gradient, part] : llvm::zip_equal(old, parts.getOutputs()))
    gradient.replaceAllUsesWith(part);
  return success();
}

/// Reduces the gradients to this rank's piece; the sum of its squares.
Value OptimizerSharding::squaresOf(OpBuilder &builder, BucketUpdate &bucket) {
  Location loc = bucket.family.gradients.getLoc();
  RankedTensorType type = pieceTypeOf(bucket.family.gradientType(), program.mesh);
  dist::LayoutAttr layout = dist::layoutOf(type);
  bucket.gradient = reduce(builder, bucket.family, bucket.family.gradients);
  // Every axis that shards the piece leaves an addend; listed in the order of the mesh.
  dist::LayoutAttr::Axes sharding = dist::shardingAxesOf(layout), partial;
  for (StringRef axis : program.mesh.getAxes().getAsValueRange<StringAttr>())
    if (llvm::is_contained(sharding, axis))
      partial.push_back(axis);
  auto claim = DenseI64ArrayAttr::get(builder.getContext(), {});
  dist::LayoutAttr scalar =
      dist::LayoutAttr::get(builder.getContext(), ArrayRef<dist::LayoutAttr::Axes>(), partial).withGlobal(claim);
  return SumSquaresOp::create(builder, loc, RankedTensorType::get({}, type.getElementType(), scalar), bucket.gradient);
}

static Value addUp(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  return values.size() == 1 ? values.front()
                            : AddNOp::create(builder, loc, values.front().getType(), values).getResult();
}

/// Sums of equal layout first, so that each kind of them is reduced once.
Value OptimizerSharding::sumOfSquares(OpBuilder &builder, Location loc) {
  llvm::MapVector<Type, SmallVector<Value>> byType;
  for (BucketUpdate &bucket : buckets) {
    Value squares = squaresOf(builder, bucket);
    byType[squares.getType()].push_back(squares);
  }
  SmallVector<Value> sums;
  for (auto &[type, squares] : byType) {
    dist::LayoutAttr layout = dist::layoutOf(type);
    RankedTensorType whole = dist::withLayout(cast<RankedTensorType>(type), layout.withPartial({}));
    sums.push_back(dist::AllReduceOp::create(builder, loc, whole, dist::ReductionKind::Sum,
                                             addUp(builder, loc, squares), layout.getPartial(), DenseI64ArrayAttr()));
  }
  return addUp(builder, loc, sums);
}

/// In the place of the norm of whole gradients.
void OptimizerSharding::takeNormOfPieces(ClipScaleOp clip) {
  Value norm = clip.getNormSquared();
  Operation *first = clip; // besides it, a loss scaling looks at the norm
  for (Operation *user : norm.getUsers())
    if (user->isBeforeInBlock(first))
      first = user;
  OpBuilder builder(first);
  norm.replaceAllUsesWith(sumOfSquares(builder, clip.getLoc()));
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
