//===- Shard.cpp - decide how parameters and inputs are spread ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which dim of which parameter does tensor parallelism cut? Linears alternate:
//
//   whole input  -> column-parallel: weight [tp, -], output features sharded
//   sharded input -> row-parallel:   weight [-, tp], output a partial sum
//
// so that one reduction closes each pair (arXiv 1909.08053). The embedding is cut
// over the vocabulary, and so is the head, a linear with a whole input. Under
// sequence parallelism (arXiv 2205.05198) the embedding's output is seeded as
// sharded over the sequence; dist-propagate carries that along the residual stream.
//
// Relies on: @micro_batch of the training phase. Leaves true: a mesh, and a
// `dist.layout` decision on every parameter and every argument of a function.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Decisions.h"
#include "passes/sharding/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace tgpt {
#define GEN_PASS_DEF_SHARD
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;

namespace {

/// The divisor of `count` nearest to `wanted`, the smaller of two equally near.
int64_t nearestDivisor(int64_t count, int64_t wanted) {
  for (int64_t distance = 0;; ++distance) {
    if (int64_t below = wanted - distance; below >= 1 && count % below == 0)
      return below;
    if (int64_t above = wanted + distance; above <= count && count % above == 0)
      return above;
  }
}

ParameterOp parameterOf(Value value, const SymbolTable &symbols) {
  auto read = value ? value.getDefiningOp<ReadOp>() : ReadOp();
  return read ? symbols.lookup<ParameterOp>(read.getSymbolAttr().getAttr()) : ParameterOp();
}

struct ShardPass : tgpt::impl::ShardBase<ShardPass> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    if (failed(addMesh()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      shardArguments(function);
    auto model = getOperation().lookupSymbol<func::FuncOp>("micro_batch");
    if (!model) {
      getOperation().emitError() << "no function '@micro_batch', run tgpt-differentiate first";
      return signalPassFailure();
    }
    if (tp > 1 && failed(shardModel(model)))
      return signalPassFailure();
    for (auto parameter : getOperation().getOps<ParameterOp>())
      if (!decisionOf(parameter)) {
        decide(parameter, {});
        ++numReplicated;
      }
  }

  LogicalResult addMesh() {
    ModuleOp module = getOperation();
    for (auto [name, size] : {std::pair<StringRef, int64_t>{"dp", dp}, {"pp", pp}, {"tp", tp}})
      if (size < 1)
        return module.emitError() << "mesh axis '" << name << "' has size " << size << ", expected at least 1";
    if (dist::MeshOp present = dist::meshOf(module)) {
      present.emitError() << "the module has a mesh already";
      return failure();
    }
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    dist::MeshOp::create(builder, module.getLoc(), builder.getStringAttr("mesh"),
                         builder.getStrArrayAttr({"dp", "pp", "tp"}), builder.getDenseI64ArrayAttr({dp, pp, tp}));
    return success();
  }

  /// Tokens, labels and sample numbers are sharded over dp by their first dim, scalars are whole.
  void shardArguments(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      LayoutAttr layout = LayoutAttr::replicated(&getContext(), rank);
      if (rank > 0 && dp > 1)
        layout = layout.withDim(0, {"dp"});
      function.setArgAttr(argument.getArgNumber(), decisionAttributeName, layout);
    }
  }

  void decide(ParameterOp parameter, ArrayRef<std::pair<int64_t, StringRef>> shardedDims) {
    LayoutAttr layout = LayoutAttr::replicated(&getContext(), cast<RankedTensorType>(parameter.getType()).getRank());
    for (auto [dim, axis] : shardedDims)
      layout = layout.withDim(dim, {axis});
    parameter->setAttr(decisionAttributeName, layout);
  }

  /// Walks the forward, keeping the values whose last dim is sharded, and what the
  /// backward computes again: clones are sharded as their originals are.
  LogicalResult shardModel(func::FuncOp model) {
    SymbolTable symbols(getOperation()); // a look-up in the module itself is linear
    llvm::DenseSet<Value> featureSharded;
    bool isBackward = false;
    for (Operation &op : llvm::make_early_inc_range(model.getBody().front())) {
      isBackward |= isa<BeginBackwardOp>(op);
      if (isBackward && !op.hasAttr(recomputedAttributeName))
        continue;
      LogicalResult result = success();
      if (auto embedding = dyn_cast<EmbeddingOp>(op))
        result = shardEmbedding(embedding, symbols);
      else if (auto linear = dyn_cast<LinearOp>(op))
        result = shardLinear(linear, symbols, featureSharded);
      else if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
        result = followFeatures(ruled, featureSharded);
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult checkDivisible(Operation *op, const Twine &what, int64_t count) {
    if (count % tp == 0)
      return success();
    InFlightDiagnostic error = op->emitError()
                               << what << " is " << count << ", which tp = " << int64_t(tp)
                               << " does not divide; the nearest legal tp is " << nearestDivisor(count, tp);
    error.attachNote(op->getLoc()) << "with tp = " << int64_t(tp) << " the nearest legal size is "
                                   << std::max<int64_t>((count + tp / 2) / tp, 1) * tp;
    return error;
  }

  LogicalResult shardEmbedding(EmbeddingOp op, const SymbolTable &symbols) {
    ParameterOp table = parameterOf(op.getTable(), symbols);
    if (table && !decisionOf(table)) {
      if (failed(checkDivisible(op, "the vocabulary", op.getTable().getType().getDimSize(0))))
        return failure();
      decide(table, {{0, "tp"}});
    }
    if (!sequenceParallel)
      return success();
    auto type = op.getOutput().getType();
    if (failed(checkDivisible(op, "under sequence parallelism the sequence length", type.getDimSize(1))))
      return failure();
    op->setAttr(decisionAttributeName, sequenceSharded(type.getRank()));
    return success();
  }

  /// [dp, tp, -, ...]: the layout of the residual stream under sequence parallelism.
  LayoutAttr sequenceSharded(int64_t rank) {
    LayoutAttr layout = LayoutAttr::replicated(&getContext(), rank).withDim(1, {"tp"});
    return dp > 1 ? layout.withDim(0, {"dp"}) : layout;
  }

  LogicalResult shardLinear(LinearOp op, const SymbolTable &symbols, llvm::DenseSet<Value> &featureSharded) {
    ParameterOp weight = parameterOf(op.getWeight(), symbols);
    if (!weight)
      return success();
    if (featureSharded.contains(op.getInput())) {
      if (!decisionOf(weight))
        decide(weight, {{1, "tp"}});
      splitBias(op);
      if (sequenceParallel) // reduce_scatter the product: what follows is the residual stream
        op->setAttr(decisionAttributeName, sequenceSharded(op.getOutput().getType().getRank()));
      ++numRow;
      return success();
    }
    for (Operation *user : op.getOutput().getUsers())
      if (auto ruled = dyn_cast<ShardingRuleOpInterface>(user); ruled && failed(checkUnits(ruled, op.getOutput())))
        return failure();
    if (failed(checkDivisible(op, "the number of output features", op.getWeight().getType().getDimSize(0))))
      return failure();
    if (!decisionOf(weight))
      decide(weight, {{0, "tp"}});
    if (ParameterOp bias = parameterOf(op.getBias(), symbols); bias && !decisionOf(bias))
      decide(bias, {{0, "tp"}});
    featureSharded.insert(op.getOutput());
    ++numColumn;
    return success();
  }

  /// y = x w^T + b   ->   y = x w^T; y + b
  void splitBias(LinearOp op) {
    if (!op.getBias())
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto add = AddOp::create(builder, op.getLoc(), op.getOutput().getType(), op.getOutput(), op.getBias());
    add->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.getOutput().replaceAllUsesExcept(add.getOutput(), add);
    op.getBiasMutable().clear();
    ++numBiasesSplit;
  }

  /// The units (heads) that `op` sees in the last dim of `operand` must stay whole.
  LogicalResult checkUnits(ShardingRuleOpInterface op, Value operand) {
    ShardingRule rule = op.getShardingRule();
    for (auto [candidate, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
      for (const ShardingRule::Granularity &granularity : rule.granularities) {
        if (candidate != operand || factors.empty() || factors.back() != granularity.factor)
          continue;
        int64_t units = cast<RankedTensorType>(operand.getType()).getShape().back() / granularity.unitElements;
        if (failed(checkDivisible(op, "the number of " + granularity.unitName + "s", units)))
          return failure();
      }
    return success();
  }

  /// An op whose result has the same last factor as a feature-sharded operand
  /// keeps the features sharded.
  LogicalResult followFeatures(ShardingRuleOpInterface op, llvm::DenseSet<Value> &featureSharded) {
    ShardingRule rule = op.getShardingRule();
    for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands)) {
      if (!featureSharded.contains(operand) || factors.empty() || rule.isBlocked(factors.back()))
        continue;
      char feature = factors.back();
      if (failed(checkUnits(op, operand)))
        return failure();
      for (auto [result, resultFactors] : llvm::zip_equal(op->getResults(), rule.results))
        if (!resultFactors.empty() && resultFactors.back() == feature)
          featureSharded.insert(result);
    }
    return success();
  }
};

} // namespace
