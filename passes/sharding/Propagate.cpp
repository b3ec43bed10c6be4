//===- Propagate.cpp - carry the layouts to every value ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where does each value live? Visits the ops in program order. Each op's factors
// take axes from what is fixed already, strongest first: the layout of the
// parameter a gradient belongs to, then parameters read, then the other operands.
// What an operand must look like and what the results are then follows from the
// op's sharding rule alone; a difference becomes a dist.reshard.
//
// A value is gathered anew in the backward rather than kept from the forward, so
// that only its shard stays in memory; but a partial value is reduced only once.
//
// Relies on: decisions (`dist.layout`) on parameters and arguments. Leaves true:
// every tensor type has a layout, every op satisfies its sharding rule.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/dist/FlatTensor.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Decisions.h"
#include "passes/sharding/FactorAxes.h"
#include "passes/sharding/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

namespace tgpt {
#define GEN_PASS_DEF_PROPAGATE
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;
using dist::layoutOf;

namespace {

RankedTensorType typeOfSymbol(Operation *symbol) {
  if (auto parameter = dyn_cast<ParameterOp>(symbol))
    return parameter.getType();
  return cast<StateOp>(symbol).getType();
}

void setTypeOfSymbol(Operation *symbol, RankedTensorType type) {
  if (auto parameter = dyn_cast<ParameterOp>(symbol))
    parameter.setType(type);
  else
    cast<StateOp>(symbol).setType(type);
}

void setLayout(Value value, LayoutAttr layout) {
  value.setType(dist::withLayout(cast<RankedTensorType>(value.getType()), layout));
}

/// Inserts reshards, and finds those made before.
class Resharder {
public:
  /// `value`, or what it became once it was reduced.
  Value current(Value value) const {
    Value reduced = reducedForm.lookup(value);
    return reduced ? reduced : value;
  }

  /// `value` with layout `target`, for a use in `user`.
  Value get(Value value, LayoutAttr target, Operation *user) {
    value = current(value);
    if (layoutOf(value) == target)
      return value;
    if (Value known = made.lookup({value, target})) {
      ++shared;
      return known;
    }
    OpBuilder builder(user);
    auto type = dist::withLayout(cast<RankedTensorType>(value.getType()), target);
    auto reshard = dist::ReshardOp::create(builder, value.getLoc(), type, value);
    // A reduction ends the op that left partial sums, a gather begins the op that needs it.
    bool isReduction = layoutOf(value).isPartial() && !target.isPartial();
    Operation *owner = isReduction ? value.getDefiningOp() : user;
    if (Attribute layer = owner ? owner->getAttr(layerAttributeName) : Attribute())
      reshard->setAttr(layerAttributeName, layer);
    ++inserted;
    if (isReduction)
      reducedForm[value] = reshard;
    return made[{value, target}] = reshard;
  }

  /// From here on values are gathered anew.
  void forgetGathers() { made.clear(); }

  int64_t inserted = 0, shared = 0;

private:
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made;
  llvm::DenseMap<Value, Value> reducedForm;
};

/// Propagation through one module.
class Propagator {
public:
  Propagator(ModuleOp module, dist::MeshOp mesh) : module(module), symbols(module), mesh(mesh) {}

  LogicalResult run() {
    layOutSymbols();
    for (StringRef phase : {"micro_batch", "begin", "update"})
      for (auto function : module.getOps<func::FuncOp>())
        if (auto attribute = function->getAttrOfType<StringAttr>(phaseAttributeName);
            attribute && attribute.getValue() == phase)
          if (failed(visit(function)))
            return failure();
    return success();
  }

  int64_t inserted = 0, shared = 0, declined = 0;

private:
  MLIRContext *context() { return module.getContext(); }
  Operation *lookup(FlatSymbolRefAttr symbol) { return symbols.lookup(symbol.getAttr()); }

  /// Parameters get the decided layout, their states the same.
  void layOutSymbols() {
    for (auto parameter : module.getOps<ParameterOp>()) {
      auto type = cast<RankedTensorType>(parameter.getType());
      LayoutAttr decision = decisionOf(parameter);
      parameter.setType(
          dist::withLayout(type, decision ? decision : LayoutAttr::replicated(context(), type.getRank())));
      parameter->removeAttr(decisionAttributeName);
    }
    for (auto state : module.getOps<StateOp>()) {
      auto type = cast<RankedTensorType>(state.getType());
      LayoutAttr layout = LayoutAttr::replicated(context(), type.getRank());
      if (FlatSymbolRefAttr parameter = state.getParameterAttr())
        layout = layoutOf(typeOfSymbol(lookup(parameter)));
      state.setType(dist::withLayout(type, layout));
    }
  }

  LogicalResult visit(func::FuncOp function) {
    Resharder resharder;
    for (BlockArgument argument : function.getArguments()) {
      auto decision = function.getArgAttrOfType<LayoutAttr>(argument.getArgNumber(), decisionAttributeName);
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      setLayout(argument, decision ? decision : LayoutAttr::replicated(context(), rank));
      function.removeArgAttr(argument.getArgNumber(), decisionAttributeName);
    }
    llvm::MapVector<Operation *, SmallVector<AccumulateOp>> accumulates;
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (failed(visit(&op, resharder, accumulates)))
        return failure();
    for (auto &[state, ops] : accumulates)
      settleState(state, ops, resharder);
    Operation *terminator = function.getBody().front().getTerminator();
    function.setFunctionType(
        FunctionType::get(context(), function.getBody().getArgumentTypes(), terminator->getOperandTypes()));
    inserted += resharder.inserted;
    shared += resharder.shared;
    return success();
  }

  LogicalResult visit(Operation *op, Resharder &resharder,
                      llvm::MapVector<Operation *, SmallVector<AccumulateOp>> &accumulates) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      read.getValue().setType(typeOfSymbol(lookup(read.getSymbolAttr())));
      return success();
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      LayoutAttr target = layoutOf(typeOfSymbol(lookup(write.getSymbolAttr())));
      write.getValueMutable().assign(resharder.get(write.getValue(), target, op));
      return success();
    }
    if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      accumulates[lookup(accumulate.getSymbolAttr())].push_back(accumulate);
      return success();
    }
    if (isa<BeginBackwardOp>(op)) {
      resharder.forgetGathers();
      return success();
    }
    if (isa<func::ReturnOp>(op)) {
      for (OpOperand &operand : op->getOpOperands()) {
        int64_t rank = cast<RankedTensorType>(operand.get().getType()).getRank();
        operand.set(resharder.get(operand.get(), LayoutAttr::replicated(context(), rank), op));
      }
      return success();
    }
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op)) {
      visitRuled(ruled, resharder);
      return success();
    }
    return op->emitError() << "has no sharding rule, so its layout cannot be known";
  }

  /// The layout that the users of `value` fix: that of the state it is added to
  /// or written to.
  LayoutAttr pinnedLayout(Value value) {
    for (Operation *user : value.getUsers()) {
      if (auto accumulate = dyn_cast<AccumulateOp>(user))
        return layoutOf(typeOfSymbol(lookup(accumulate.getSymbolAttr())));
      if (auto write = dyn_cast<WriteOp>(user))
        return layoutOf(typeOfSymbol(lookup(write.getSymbolAttr())));
    }
    return {};
  }

  bool isParameter(Value value) {
    auto read = value.getDefiningOp<ReadOp>();
    return read && isa<ParameterOp>(lookup(read.getSymbolAttr()));
  }

  /// Parameters before other operands, those cut by more axes before those cut by fewer: it costs nothing to take a
  /// part of what is whole (key and value weights beside that of the queries).
  SmallVector<unsigned> strongestFirst(Operation *op) {
    auto strength = [&](unsigned operand) {
      Value value = op->getOperand(operand);
      return isParameter(value) ? 1 + dist::shardingAxesOf(layoutOf(value)).size() : 0;
    };
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return strength(a) > strength(b); });
    return order;
  }

  FactorAxes assignAxes(ShardingRuleOpInterface op) {
    FactorAxes axes(op, op.getShardingRule(), mesh);
    const ShardingRule &rule = axes.getRule();
    for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results))
      if (LayoutAttr pinned = pinnedLayout(result))
        axes.offer(dims, pinned);
    for (unsigned operand : strongestFirst(op))
      axes.offer(rule.operands[operand], layoutOf(op->getOperand(operand)));
    declined += axes.getDeclined();
    return axes;
  }

  /// Axes over which each operand stays a partial sum, because the op is linear in it.
  SmallVector<SmallVector<StringRef>> passedPartials(ShardingRuleOpInterface op, const FactorAxes &axes) {
    const ShardingRule &rule = axes.getRule();
    SmallVector<SmallVector<StringRef>> passed(op->getNumOperands());
    if (op->getNumOperands() == 0 || (addsCanonically(op) && !rule.addsNothing) ||
        (rule.linearity == ShardingRule::Linearity::Joint && !haveOnePartial(op)))
      return passed;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      LayoutAttr layout = layoutOf(operand);
      if (rule.isLinearIn(index) && layout.getReduction() == dist::ReductionKind::Sum)
        for (StringRef axis : layout.partialAxes())
          if (!axes.isUsed(axis) &&
              (rule.linearity == ShardingRule::Linearity::Joint || isWholeElsewhere(op, index, axis)))
            passed[index].push_back(axis);
    }
    return passed;
  }

  static bool haveOnePartial(Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return layoutOf(operand).getPartial() == layoutOf(op->getOperand(0)).getPartial();
    });
  }

  static bool isWholeElsewhere(Operation *op, unsigned index, StringRef axis) {
    return llvm::none_of(op->getOpOperands(), [&](OpOperand &other) {
      return other.getOperandNumber() != index && layoutOf(other.get()).isPartialOver(axis);
    });
  }

  void visitRuled(ShardingRuleOpInterface op, Resharder &resharder) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(resharder.current(operand.get()));
    FactorAxes axes = assignAxes(op);
    const ShardingRule &rule = axes.getRule();
    SmallVector<SmallVector<StringRef>> passed = passedPartials(op, axes);
    for (auto [operand, dims, partial] : llvm::zip_equal(op->getOpOperands(), rule.operands, passed))
      operand.set(resharder.get(operand.get(), axes.layoutOf(dims).withPartial(partial), op));
    llvm::SmallSetVector<StringRef, 2> passedAxes;
    for (ArrayRef<StringRef> partial : passed)
      passedAxes.insert_range(partial);

    for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results)) {
      SmallVector<StringRef> partial = axes.reducedAxes(dims);
      partial.append(passedAxes.begin(), passedAxes.end());
      LayoutAttr layout = axes.layoutOf(dims).withPartial(partial);
      if (LayoutAttr pinned = pinnedLayout(result); pinned && rule.mayBePartial)
        layout = layout.withPartial(pinned.partialAxes(), pinned.getReduction());
      setLayout(result, layout);
    }
    if (LayoutAttr decision = decisionOf(op)) {
      op->removeAttr(decisionAttributeName);
      Operation *next = op->getNextNode();
      Value seeded = resharder.get(op->getResult(0), decision, next);
      op->getResult(0).replaceAllUsesExcept(seeded, seeded.getDefiningOp());
    }
  }

  /// A state that micro-batches add to stays partial over the axes over which all
  /// its addends are; it is reduced once a step, in the update.
  void settleState(Operation *state, ArrayRef<AccumulateOp> accumulates, Resharder &resharder) {
    AccumulateOp first = accumulates.front();
    LayoutAttr::Axes partial = layoutOf(first.getValue()).partialAxes();
    for (AccumulateOp accumulate : accumulates)
      llvm::erase_if(partial, [&](StringRef axis) { return !layoutOf(accumulate.getValue()).isPartialOver(axis); });
    RankedTensorType type = typeOfSymbol(state);
    LayoutAttr target = layoutOf(type).withPartial(partial);
    for (AccumulateOp accumulate : accumulates)
      for (FlatSymbolRefAttr level : accumulate.getLevels())
        setTypeOfSymbol(lookup(level), dist::withLayout(type, target));
    for (AccumulateOp accumulate : accumulates) {
      // Reshard next to the accumulate: a value may be added to several states.
      Value value = accumulate.getValue();
      if (layoutOf(value) == target)
        continue;
      OpBuilder builder(accumulate);
      auto reshard = dist::ReshardOp::create(builder, value.getLoc(),
                                             dist::withLayout(cast<RankedTensorType>(value.getType()), target), value);
      if (Attribute layer = accumulate->getAttr(layerAttributeName))
        reshard->setAttr(layerAttributeName, layer);
      accumulate.getValueMutable().assign(reshard);
      ++resharder.inserted;
    }
  }

  ModuleOp module;
  SymbolTable symbols; ///< a look-up in the module itself is linear
  dist::MeshOp mesh;
};

struct PropagatePass : tgpt::impl::PropagateBase<PropagatePass> {
  void runOnOperation() override {
    dist::MeshOp mesh = dist::meshOf(getOperation());
    if (!mesh) {
      getOperation().emitError() << "the module has no dist.mesh, run tgpt-shard first";
      return signalPassFailure();
    }
    Propagator propagator(getOperation(), mesh);
    if (failed(propagator.run()))
      return signalPassFailure();
    numReshards += propagator.inserted;
    numShared += propagator.shared;
    numClaimsDeclined += propagator.declined;
  }
};

} // namespace
