//===- ExchangeNodes.cpp - add up nodes of ranks where all of them meet -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who adds up a sum of which every rank has several nodes, and how do they get there?
// The nodes are addends, no partial sums: stacked they are a tensor like any other, of
// which a rank takes a piece from everyone and adds it in the tree.
//
//   reduce_scatter (join_nodes %a, %b)  ->  sum_nodes (all_to_all (stack_nodes %a, %b))
//   all_reduce (join_nodes %a, %b)      ->  all_gather (sum_nodes (all_to_all (stack_nodes %a, %b)))
//                                       or  sum_nodes (all_gather (stack_nodes %a, %b))     (no dim to cut)
//   join_nodes %a, %b (of one rank)     ->  add %a, %b
//
// It costs as many bytes as a reduce_scatter of each node, and the all_gather.
//
// Relies on: local types, and the last word on which sums are taken together
// (zero-reduce-buckets, zero-shard-optimizer). Leaves true: no tgpt.join_nodes.
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_EXCHANGENODES
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using dist::layoutOf;

namespace {

struct ExchangeNodesPass : tgpt::impl::ExchangeNodesBase<ExchangeNodesPass> {
  void runOnOperation() override {
    SmallVector<JoinNodesOp> joins;
    getOperation().walk([&](JoinNodesOp join) { joins.push_back(join); });
    if (joins.empty())
      return markAllAnalysesPreserved();
    mesh = dist::meshOf(getOperation());
    for (JoinNodesOp join : joins)
      if (failed(lower(join)))
        return signalPassFailure();
  }

  LogicalResult lower(JoinNodesOp join) {
    for (Operation *user : llvm::make_early_inc_range(join->getUsers())) {
      LogicalResult result = success();
      if (auto reduce = dyn_cast<dist::AllReduceOp>(user))
        result = lowerAllReduce(join, reduce);
      else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(user))
        result = lowerReduceScatter(join, scatter);
      if (failed(result))
        return failure();
    }
    if (!join->use_empty() && failed(lowerOfOneRank(join)))
      return failure();
    join.erase();
    return success();
  }

  /// Every rank's nodes in one tensor, where they are those that so many ranks have.
  Value stack(JoinNodesOp join, ArrayAttr axes, Operation *sum, OpBuilder &builder) {
    int64_t ranks = mesh.sizeOf(dist::axesIn(axes)), expected = mostSumNodes(join.getAddends(), ranks);
    if (int64_t(join.getNodes().size()) != expected) {
      sum->emitOpError() << "sums over " << ranks << " ranks, which have " << expected << " nodes of "
                         << join.getAddends() << " addends, but is given " << join.getNodes().size();
      return {};
    }
    RankedTensorType type = dist::stackedTypeOf(join.getOutput().getType(), expected, dist::axesIn(axes), mesh);
    return marked(dist::StackNodesOp::create(builder, sum->getLoc(), type, join.getNodes(), axes), sum);
  }

  Value sumRows(JoinNodesOp join, Value rows, Operation *sum, OpBuilder &builder) {
    auto type = cast<RankedTensorType>(rows.getType());
    dist::LayoutAttr layout = layoutOf(type);
    SmallVector<dist::LayoutAttr::Axes> dims;
    for (int64_t dim = 1; dim < layout.getRank(); ++dim)
      dims.push_back(layout.axesOf(dim));
    ArrayRef<int64_t> global = layout.getGlobal().asArrayRef();
    dist::LayoutAttr summed = dist::LayoutAttr::get(&getContext(), dims, layout.partialAxes(), layout.getReduction())
                                  .withGlobal(DenseI64ArrayAttr::get(&getContext(), global.drop_front()));
    auto result = RankedTensorType::get(type.getShape().drop_front(), type.getElementType(), summed);
    return marked(SumNodesOp::create(builder, sum->getLoc(), result, rows, join.getAddendsAttr(),
                                     builder.getI64IntegerAttr(join.getNodes().size())),
                  sum);
  }

  LogicalResult lowerReduceScatter(JoinNodesOp join, dist::ReduceScatterOp sum) {
    OpBuilder builder(sum);
    Value rows = stack(join, sum.getAxes(), sum, builder);
    if (!rows)
      return failure();
    Value piece = sumRows(join, exchange(rows, sum.getDim(), sum.getAxes(), sum, builder), sum, builder);
    sum.getOutput().replaceAllUsesWith(piece);
    sum.erase();
    ++numScattered;
    return success();
  }

  LogicalResult lowerAllReduce(JoinNodesOp join, dist::AllReduceOp sum) {
    if (sum.getStages())
      return sum.emitOpError("sums nodes over stages, each of which has a part of the sum");
    OpBuilder builder(sum);
    Value rows = stack(join, sum.getAxes(), sum, builder);
    if (!rows)
      return failure();
    auto whole = cast<RankedTensorType>(sum.getOutput().getType());
    std::optional<int64_t> dim = divisibleDim(whole, mesh.sizeOf(dist::axesIn(sum.getAxes())));
    Value result;
    if (dim) {
      Value piece = sumRows(join, exchange(rows, *dim, sum.getAxes(), sum, builder), sum, builder);
      result = marked(dist::AllGatherOp::create(builder, sum.getLoc(), whole, piece, *dim, sum.getAxes()), sum);
      ++numScattered;
    } else {
      auto type = cast<RankedTensorType>(rows.getType());
      dist::LayoutAttr layout = layoutOf(type).withDim(0, {});
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = layout.getGlobal()[0];
      auto gathered = RankedTensorType::get(shape, type.getElementType(), layout);
      Value all = marked(dist::AllGatherOp::create(builder, sum.getLoc(), gathered, rows, 0, sum.getAxes()), sum);
      result = sumRows(join, all, sum, builder);
      ++numGathered;
    }
    sum.getOutput().replaceAllUsesWith(result);
    sum.erase();
    return success();
  }

  /// The rows of all ranks, and of each a piece of `dim` of the sum.
  Value exchange(Value rows, int64_t dim, ArrayAttr axes, Operation *sum, OpBuilder &builder) {
    auto type = cast<RankedTensorType>(rows.getType());
    dist::LayoutAttr layout = layoutOf(type).withDim(0, {});
    dist::LayoutAttr::Axes cut = layout.axesOf(dim + 1);
    for (StringRef axis : axes.getAsValueRange<StringAttr>())
      cut.push_back(axis);
    layout = layout.withDim(dim + 1, cut);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = layout.getGlobal()[0];
    shape[dim + 1] /= mesh.sizeOf(dist::axesIn(axes));
    auto result = RankedTensorType::get(shape, type.getElementType(), layout);
    return marked(dist::AllToAllOp::create(builder, sum->getLoc(), result, rows, dim + 1, 0, axes), sum);
  }

  /// The first dim that the ranks can share out: its pieces are the longest.
  static std::optional<int64_t> divisibleDim(RankedTensorType type, int64_t ranks) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) % ranks == 0)
        return dim;
    return std::nullopt;
  }

  /// Nodes that no other rank has a part of: what the tree adds at the end, from the right.
  LogicalResult lowerOfOneRank(JoinNodesOp join) {
    if (dist::LayoutAttr layout = layoutOf(join.getOutput()); layout && layout.isPartial())
      return join.emitOpError("is used as a partial sum, but not by a sum over ranks");
    OpBuilder builder(join);
    Value sum = join.getNodes().back();
    for (Value node : llvm::reverse(join.getNodes().drop_back()))
      sum = AddOp::create(builder, join.getLoc(), join.getType(), node, sum);
    join.getOutput().replaceAllUsesWith(sum);
    if (auto read = join.getNodes().front().getDefiningOp<ReadOp>()) // as a sum of one node would be left there
      WriteOp::create(builder, join.getLoc(), sum, read.getSymbol());
    ++numOfOneRank;
    return success();
  }

  /// What stands for `sum` carries its attributes.
  template <typename Op> static Value marked(Op op, Operation *sum) {
    op->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    return op->getResult(0);
  }

  dist::MeshOp mesh;
};

} // namespace
