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
// so that one reduction closes each pair (arXiv 1909.08053). With fewer KV heads than
// tp ranks, tp is two axes, of which k and v take the first (TensorAxes.h): ranks that
// share a KV head hold the same k and v weights. The embedding is cut
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
#include "passes/sharding/TensorAxes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

namespace tgpt {
#define GEN_PASS_DEF_SHARD
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;
using Axes = LayoutAttr::Axes;

namespace {

ParameterOp parameterOf(Value value, const SymbolTable &symbols) {
  auto read = value ? value.getDefiningOp<ReadOp>() : ReadOp();
  return read ? symbols.lookup<ParameterOp>(read.getSymbolAttr().getAttr()) : ParameterOp();
}

/// The axes that shard the last dim of a value.
using FeatureAxes = llvm::DenseMap<Value, Axes>;

struct ShardPass : tgpt::impl::ShardBase<ShardPass> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    if (failed(checkMesh()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      shardArguments(function);
    auto model = getOperation().lookupSymbol<func::FuncOp>("micro_batch");
    if (!model) {
      getOperation().emitError() << "no function '@micro_batch', run tgpt-differentiate first";
      return signalPassFailure();
    }
    FailureOr<TensorAxisSizes> split = splitTensorAxis(model, tp);
    if (failed(split))
      return signalPassFailure();
    // Canonically, one rank runs the program of many, cut along the very same dims.
    bool isCanonical = addsCanonically(getOperation());
    addMesh(*split);
    if ((tp > 1 || isCanonical) && failed(shardModel(model)))
      return signalPassFailure();
    for (auto parameter : getOperation().getOps<ParameterOp>())
      if (!decisionOf(parameter)) {
        decide(parameter);
        ++numReplicated;
      }
  }

  LogicalResult checkMesh() {
    ModuleOp module = getOperation();
    for (auto [name, size] :
         {std::pair<StringRef, int64_t>{"dp_replica", dpReplicas}, {"dp", dp}, {"pp", pp}, {"tp", tp}})
      if (size < 1)
        return module.emitError() << "mesh axis '" << name << "' has size " << size << ", expected at least 1";
    SmallVector<StringRef> sorted(orderOfAxes());
    llvm::sort(sorted);
    if (sorted != SmallVector<StringRef>{"dp", "pp", tensorAxisName})
      return module.emitError() << "axis-order is '" << llvm::join(axisOrder, ",")
                                << "', expected dp, pp and tp, each once, such as dp,pp,tp";
    if (dist::MeshOp present = dist::meshOf(module)) {
      present.emitError() << "the module has a mesh already";
      return failure();
    }
    return success();
  }

  /// dp, pp and tp, from the outside in.
  SmallVector<StringRef> orderOfAxes() {
    if (axisOrder.empty())
      return {"dp", "pp", tensorAxisName};
    return SmallVector<StringRef>(axisOrder.begin(), axisOrder.end());
  }

  void addMesh(TensorAxisSizes split) {
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    auto add = [&](StringRef name, int64_t size) {
      names.push_back(name);
      sizes.push_back(size);
    };
    tensorAxes = {tensorAxisName};
    for (StringRef axis : orderOfAxes()) {
      if (axis == "dp" && dpReplicas > 1)
        add("dp_replica", dpReplicas);
      add(axis, axis == "dp" ? dp : axis == "pp" ? pp : split.outer);
      if (axis == tensorAxisName && split.inner > 1) {
        add(innerTensorAxisName, split.inner);
        tensorAxes.push_back(innerTensorAxisName);
      }
    }
    mesh = dist::MeshOp::create(builder, getOperation().getLoc(), builder.getStringAttr("mesh"),
                                builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
  }

  /// The layout with samples dealt out by the first dim.
  LayoutAttr withSamplesSharded(LayoutAttr layout) {
    LayoutAttr::Axes axes;
    if (dpReplicas > 1)
      axes.push_back("dp_replica");
    if (dp > 1)
      axes.push_back("dp");
    return axes.empty() ? layout : layout.withDim(0, axes);
  }

  /// Tokens, labels and sample numbers are sharded over dp by their first dim, scalars are whole.
  void shardArguments(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      LayoutAttr layout = LayoutAttr::replicated(&getContext(), rank);
      if (rank > 0)
        layout = withSamplesSharded(layout);
      function.setArgAttr(argument.getArgNumber(), decisionAttributeName, layout);
    }
  }

  void decide(ParameterOp parameter, int64_t dim = 0, const Axes &axes = {}) {
    int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
    parameter->setAttr(decisionAttributeName, LayoutAttr::replicated(&getContext(), rank).withDim(dim, axes));
  }

  /// Walks the forward, keeping the axes that shard the last dim of a value, and what
  /// the backward computes again: clones are sharded as their originals are.
  LogicalResult shardModel(func::FuncOp model) {
    SymbolTable symbols(getOperation()); // a look-up in the module itself is linear
    FeatureAxes featureAxes;
    bool isBackward = false;
    for (Operation &op : llvm::make_early_inc_range(model.getBody().front())) {
      isBackward |= isa<BeginBackwardOp>(op);
      if (isBackward && !op.hasAttr(recomputedAttributeName))
        continue;
      LogicalResult result = success();
      if (auto embedding = dyn_cast<EmbeddingOp>(op))
        result = shardEmbedding(embedding, symbols);
      else if (auto linear = dyn_cast<LinearOp>(op))
        result = shardLinear(linear, symbols, featureAxes);
      else if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
        result = followFeatures(ruled, featureAxes);
      if (auto add = dyn_cast<AddOp>(op))
        shardPositions(add, symbols);
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult checkDivisible(Operation *op, const Twine &what, int64_t count) {
    if (count % tp == 0)
      return success();
    return failDivision(op, what, count, tp,
                        nearestLegal(tp, count, [&](int64_t divisor) { return count % divisor == 0; }));
  }

  LogicalResult shardEmbedding(EmbeddingOp op, const SymbolTable &symbols) {
    ParameterOp table = parameterOf(op.getTable(), symbols);
    if (table && !decisionOf(table)) {
      if (failed(checkDivisible(op, "the vocabulary", op.getTable().getType().getDimSize(0))))
        return failure();
      decide(table, 0, tensorAxes);
    }
    if (!sequenceParallel)
      return success();
    auto type = op.getOutput().getType();
    if (failed(checkDivisible(op, "under sequence parallelism the sequence length", type.getDimSize(1))))
      return failure();
    op->setAttr(decisionAttributeName, sequenceSharded(type.getRank()));
    return success();
  }

  /// A parameter with a row for each position, where the positions are sharded: a rank has the rows of its own, and
  /// their gradient. Canonically the squares of a gradient are cut as on one rank, which may not depend on sp.
  void shardPositions(AddOp op, const SymbolTable &symbols) {
    ParameterOp positions = parameterOf(op.getRhs(), symbols);
    bool hasRows = op.getRhs().getType().getRank() == 2 && op.getOutput().getType().getRank() == 3;
    if (!sequenceParallel || addsCanonically(op) || !positions || !hasRows || decisionOf(positions))
      return;
    decide(positions, 0, tensorAxes);
  }

  /// [dp, tp, -, ...]: the layout of the residual stream under sequence parallelism.
  LayoutAttr sequenceSharded(int64_t rank) {
    return withSamplesSharded(LayoutAttr::replicated(&getContext(), rank).withDim(1, tensorAxes));
  }

  LogicalResult shardLinear(LinearOp op, const SymbolTable &symbols, FeatureAxes &featureAxes) {
    ParameterOp weight = parameterOf(op.getWeight(), symbols);
    if (!weight)
      return success();
    if (auto input = featureAxes.find(op.getInput()); input != featureAxes.end()) {
      if (!decisionOf(weight))
        decide(weight, 1, input->second);
      splitBias(op);
      if (sequenceParallel) // reduce_scatter the product: what follows is the residual stream
        op->setAttr(decisionAttributeName, sequenceSharded(op.getOutput().getType().getRank()));
      ++numRow;
      return success();
    }
    LayoutAttr decision = decisionOf(weight);
    Axes axes = decision ? decision.axesOf(0) : axesOfFeatures(op.getOutput(), tensorAxes, mesh);
    for (Operation *user : op.getOutput().getUsers())
      if (auto ruled = dyn_cast<ShardingRuleOpInterface>(user);
          ruled && failed(checkUnits(ruled, op.getOutput(), axes)))
        return failure();
    if (axes.size() == tensorAxes.size() &&
        failed(checkDivisible(op, "the number of output features", op.getWeight().getType().getDimSize(0))))
      return failure();
    if (!decision) {
      decide(weight, 0, axes);
      numReplicated += axes.empty();
    }
    if (ParameterOp bias = parameterOf(op.getBias(), symbols); bias && !decisionOf(bias))
      decide(bias, 0, axes);
    if (axes.empty())
      return success();
    featureAxes[op.getOutput()] = axes;
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
  LogicalResult checkUnits(ShardingRuleOpInterface op, Value operand, const Axes &axes) {
    ShardingRule rule = op.getShardingRule();
    for (auto [candidate, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
      for (const ShardingRule::Granularity &granularity : rule.granularities) {
        if (candidate != operand || dims.empty() || dims.back() != StringRef(&granularity.factor, 1))
          continue;
        if (axes.size() < tensorAxes.size()) // they cut what the op that reads the heads can be cut by
          continue;
        int64_t units = cast<RankedTensorType>(operand.getType()).getShape().back() / granularity.unitElements;
        if (failed(checkDivisible(op, "the number of " + granularity.unitName + "s", units)))
          return failure();
      }
    return success();
  }

  /// An op whose result has the same last factor as a feature-sharded operand
  /// keeps the features sharded.
  LogicalResult followFeatures(ShardingRuleOpInterface op, FeatureAxes &featureAxes) {
    ShardingRule rule = op.getShardingRule();
    for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rule.operands)) {
      Axes axes = featureAxes.lookup(operand);
      if (axes.empty() || dims.empty() || rule.isBlocked(dims.back().front()))
        continue;
      if (failed(checkUnits(op, operand, axes)))
        return failure();
      for (auto [result, resultDims] : llvm::zip_equal(op->getResults(), rule.results))
        if (!resultDims.empty() && resultDims.back() == dims.back())
          featureAxes[result] = axes;
    }
    return success();
  }

  dist::MeshOp mesh;
  Axes tensorAxes; ///< outermost first
};

} // namespace
