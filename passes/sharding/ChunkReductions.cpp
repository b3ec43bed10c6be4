//===- ChunkReductions.cpp - cut every sum into chunks that no grid changes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In which order does each op add? Where the module's reduction is canonical, every
// op with a sum says which dim of it a grid may shard (ChunkedSumOpInterface); that dim
// is cut into chunks of the whole tensor, so that a rank holds whole chunks of it:
//
//   tgpt.linear %x, %w   ->   tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 2>}
//
// Where the chunks on a rank are no power of two, they are no node of the tree of
// additions but a list of some (cost/SumNodes.h), which all ranks' sum needs apart:
//
//   %y = linear %x, %w      ->   %a = linear %x, %w {tgpt.node = #tgpt.node<index = 0, axes = ["tp"]>, ...}
//   (12 chunks on each of        %b = linear %x, %w {tgpt.node = #tgpt.node<index = 1, axes = ["tp"]>, ...}
//    2 ranks)                    %y = join_nodes %a, %b addends 3
//
// Relies on: layouts in all types (dist-propagate). Leaves true: whatever the mesh
// shards of a sum is the dim that is cut; no op takes partial operands; what
// micro-batches add up is partial over the axes of data parallelism alone.
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

namespace tgpt {
#define GEN_PASS_DEF_CHUNKREDUCTIONS
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using dist::layoutOf;

/// The factors that some result of the op sums over.
static std::string summedFactors(const ShardingRule &rule) {
  std::string summed;
  for (char factor : rule.factors())
    if (!rule.isBlocked(factor) &&
        llvm::any_of(rule.results, [&](const ShardingRule::Dims &result) { return rule.isReducedIn(factor, result); }))
      summed += factor;
  return summed;
}

/// The axes that shard `factor` in the operands.
static dist::LayoutAttr::Axes axesOf(Operation *op, const ShardingRule &rule, char factor, dist::MeshOp mesh) {
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      size_t position = factors.find(factor);
      dist::LayoutAttr layout = layoutOf(operand);
      if (position != std::string::npos && layout)
        return dist::dealAxes(rule, factors, layout.axesOf(dim), mesh).ofFactor[position];
    }
  return {};
}

namespace {

struct ChunkReductionsPass : tgpt::impl::ChunkReductionsBase<ChunkReductionsPass> {
  using ChunkReductionsBase::ChunkReductionsBase;

  void runOnOperation() override {
    if (!addsCanonically(getOperation()))
      return markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (op->hasAttr(nodeAttributeName)) // written below
        return WalkResult::advance();
      if (auto accumulate = dyn_cast<AccumulateOp>(op))
        return WalkResult(checkAccumulate(accumulate));
      auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
      return ruled ? WalkResult(visit(ruled)) : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult checkAccumulate(AccumulateOp op) {
    dist::LayoutAttr layout = layoutOf(op.getValue());
    for (StringRef axis : layout ? layout.partialAxes() : dist::LayoutAttr::Axes())
      if (axis != "dp" && axis != "dp_replica")
        return op.emitOpError() << "adds over the micro-batches what is partial over \"" << axis
                                << "\", so its bits would depend on the size of that axis";
    return success();
  }

  LogicalResult visit(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    dist::MeshOp mesh = dist::meshOf(op);
    std::string summed = summedFactors(rule);
    auto chunked = dyn_cast<ChunkedSumOpInterface>(op.getOperation());
    if (!chunked) {
      if (!summed.empty())
        return op.emitOpError() << "adds up factor '" << summed.substr(0, 1)
                                << "' but does not say in which order (ChunkedSumOpInterface)";
      return success();
    }
    std::optional<ChunkedDim> cut = chunked.getChunkedDim();
    if (!cut) {
      ++numExact;
      return success();
    }
    char factor = factorOf(rule, *cut, summed);
    for (char other : summed)
      if (dist::LayoutAttr::Axes axes = axesOf(op, rule, other, mesh);
          !axes.empty() && (other != factor || cut->cut == ChunkedDim::Cut::Whole))
        return op.emitOpError() << "adds up factor '" << other << "', which \"" << llvm::join(axes, "\", \"")
                                << "\" shards, but its sum is not cut along it";
    int64_t count = countOf(op, rule, *cut, factor);
    op->setAttr(chunksAttributeName, ChunksAttr::get(&getContext(), count, cut->operand, cut->dim));
    ++numChunked;
    if (cut->cut != ChunkedDim::Cut::IntoChunks || factor == '\0')
      return success();
    dist::LayoutAttr::Axes axes = axesOf(op, rule, factor, mesh);
    int64_t entries = entriesBefore(rule, rule.operands[cut->operand][cut->dim], factor), ranks = mesh.sizeOf(axes);
    if (count / entries % ranks != 0)
      return op.emitOpError() << "sums " << count / entries << " chunks, which \"" << llvm::join(axes, "\", \"")
                              << "\" of " << ranks << " ranks does not divide";
    int64_t addends = count / entries / ranks;
    if (ranks > 1 && withoutPowersOfTwo(addends) != 1)
      addNodes(op, axes, withoutPowersOfTwo(addends), mostSumNodes(addends, ranks));
    return success();
  }

  /// The op once for each node of a rank; the partial results of all of them for its own.
  void addNodes(Operation *op, ArrayRef<StringRef> axes, int64_t addends, int64_t nodes) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    SmallVector<Operation *> copies = {op};
    for (int64_t i = 1; i < nodes; ++i)
      copies.push_back(builder.clone(*op));
    for (auto [i, copy] : llvm::enumerate(copies))
      copy->setAttr(nodeAttributeName, NodeAttr::get(&getContext(), i, builder.getStrArrayAttr(axes)));
    for (OpResult result : op->getResults()) {
      dist::LayoutAttr layout = layoutOf(result);
      if (!layout || llvm::none_of(axes, [&](StringRef axis) { return layout.isPartialOver(axis); }))
        continue;
      SmallVector<Value> list;
      for (Operation *copy : copies)
        list.push_back(copy->getResult(result.getResultNumber()));
      auto join =
          JoinNodesOp::create(builder, op->getLoc(), result.getType(), list, builder.getI64IntegerAttr(addends));
      if (Attribute layer = op->getAttr(layerAttributeName))
        join->setAttr(layerAttributeName, layer);
      result.replaceAllUsesExcept(join.getOutput(), join);
    }
    numNodes += nodes;
  }

  /// Entries of the factors before `factor` in a product: each has the chunks of its own.
  static int64_t entriesBefore(const ShardingRule &rule, StringRef product, char factor) {
    int64_t entries = 1;
    if (product.size() > 1 && rule.sizeOf(factor))
      for (char before : product.take_until([&](char other) { return other == factor; }))
        entries *= rule.sizeOf(before)->entries;
    return entries;
  }

  /// The factor that is cut, of a product the one that is summed; 0 for a scalar operand.
  static char factorOf(const ShardingRule &rule, const ChunkedDim &cut, StringRef summed) {
    const ShardingRule::Dims &dims = rule.operands[cut.operand];
    if (cut.dim >= dims.size())
      return '\0';
    for (char factor : dims[cut.dim])
      if (summed.contains(factor))
        return factor;
    return dims[cut.dim].front();
  }

  /// Chunks of a factor of known size inside of a product, for each entry of those before it.
  std::optional<int64_t> countInProduct(const ShardingRule &rule, StringRef product, char factor) {
    if (product.size() < 2 || !rule.sizeOf(factor))
      return std::nullopt;
    return std::gcd(rule.sizeOf(factor)->entries, int64_t(chunks)) * entriesBefore(rule, product, factor);
  }

  int64_t countOf(Operation *op, const ShardingRule &rule, const ChunkedDim &cut, char factor) {
    SmallVector<int64_t> shape = globalShapeOf(cast<RankedTensorType>(op->getOperand(cut.operand).getType()));
    if (cut.cut == ChunkedDim::Cut::IntoChunks && cut.dim < shape.size())
      if (std::optional<int64_t> count = countInProduct(rule, rule.operands[cut.operand][cut.dim], factor))
        return *count;
    if (cut.cut == ChunkedDim::Cut::Whole || cut.dim >= shape.size())
      return 1;
    if (cut.cut == ChunkedDim::Cut::EachElement)
      return shape[cut.dim];
    return std::gcd(shape[cut.dim] / cut.unitElements, int64_t(chunks));
  }
};

} // namespace
