//===- NormOfPieces.cpp - gradients in pieces, and their norm ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "passes/zero/OptimizerSharding.h"

using namespace mlir;
using namespace tgpt;

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
