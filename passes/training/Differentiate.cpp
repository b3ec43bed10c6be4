//===- Differentiate.cpp - append the backward by reverse mode ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How does the loss change with each parameter? Walks the forward from its end and
// lets every op append the ops that turn the gradients of its results into those
// of its operands (DifferentiableOpInterface); no op is known here.
//
//   %y = tgpt.linear %x, %w        ->   ...
//                                       tgpt.begin_backward
//                                       %dx = tgpt.linear_dgrad %dy, %w
//                                       %dw = tgpt.linear_wgrad %dy, %x
//                                       tgpt.accumulate %dw, @w.gradient
//
// Relies on: static types, unrolled layers. Leaves true: @begin and @micro_batch,
// each parameter that the loss depends on has a gradient state.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/training/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tgpt {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/training/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

constexpr StringLiteral lossName = "loss_sum", countName = "token_count";

/// Marks the ops it sees inserted with the layer of the op being differentiated, and
/// with the share of its operations that are the model's.
struct LayerListener : OpBuilder::Listener {
  Attribute layer, modelShare;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (layer)
      op->setAttr(layerAttributeName, layer);
    if (modelShare && isa<CostOpInterface>(op))
      op->setAttr(modelShareAttributeName, modelShare);
  }
};

/// Reverse mode over one function body.
class ReverseMode : public Gradients {
public:
  ReverseMode(ModuleOp module, func::FuncOp function, OpBuilder &builder) : module(module), builder(builder) {
    for (Operation &op : function.getBody().front())
      if (isa<ReadOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) { return isWanted(operand); }))
        wanted.insert(op.result_begin(), op.result_end());
  }

  Value of(Value value) override { return gradients.lookup(value); }
  bool isWanted(Value value) override { return wanted.contains(value); }

  RankedTensorType typeOf(Value value) override {
    auto type = cast<RankedTensorType>(value.getType());
    if (!value.getDefiningOp<ReadOp>())
      return type;
    return RankedTensorType::get(type.getShape(), accumulationType(type.getElementType()));
  }

  /// Gradients of a parameter go straight to its state, one accumulate a use.
  void add(Value value, Value gradient) override {
    if (auto read = value.getDefiningOp<ReadOp>()) {
      AccumulateOp::create(builder, gradient.getLoc(), gradient, StringRef((read.getSymbol() + ".gradient").str()));
      used.insert({read.getSymbolAttr().getAttr(), gradient.getType()});
      return;
    }
    Value &sum = gradients[value];
    sum = sum ? AddOp::create(builder, gradient.getLoc(), sum.getType(), sum, gradient).getResult() : gradient;
  }

  /// The parameters that got a gradient, and its type.
  const llvm::MapVector<StringAttr, Type> &usedParameters() const { return used; }

private:
  ModuleOp module;
  OpBuilder &builder;
  llvm::DenseSet<Value> wanted;
  llvm::DenseMap<Value, Value> gradients;
  llvm::MapVector<StringAttr, Type> used;
};

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0;
}

/// The one function from tokens, labels and perhaps more to loss sum and token count.
FailureOr<func::FuncOp> findModel(ModuleOp module) {
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.getNumArguments() >= 2 && function.getNumResults() == 2 &&
        llvm::all_of(function.getResultTypes(), isScalar))
      candidates.push_back(function);
  if (candidates.size() == 1)
    return candidates[0];
  InFlightDiagnostic error = module.emitError()
                             << "expected one function from tokens and labels to loss sum and token count, found "
                             << candidates.size();
  for (func::FuncOp candidate : candidates)
    error.attachNote(candidate.getLoc()) << "candidate '@" << candidate.getSymName() << "'";
  return failure();
}

StateOp declareMetric(OpBuilder &builder, Location loc, StringRef name, Type type) {
  return StateOp::create(builder, loc, StateRole::Metric, name, cast<RankedTensorType>(type), FlatSymbolRefAttr(),
                         /*transient=*/true);
}

/// @begin: zero to every state that micro-batches add to.
void buildBegin(ModuleOp module, func::FuncOp before) {
  OpBuilder builder(before);
  auto begin = func::FuncOp::create(builder, module.getLoc(), "begin", builder.getFunctionType({}, {}));
  begin->setAttr(phaseAttributeName, builder.getStringAttr("begin"));
  builder.setInsertionPointToStart(begin.addEntryBlock());
  for (auto state : module.getOps<StateOp>()) {
    Value zero = FillOp::create(builder, state.getLoc(), state.getType(), builder.getF64FloatAttr(0.0));
    WriteOp::create(builder, state.getLoc(), zero, state.getSymName());
  }
  func::ReturnOp::create(builder, module.getLoc());
}

struct DifferentiatePass : tgpt::impl::DifferentiateBase<DifferentiatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> model = findModel(module);
    if (failed(model) || failed(differentiate(module, *model)))
      return signalPassFailure();
    buildBegin(module, *model);
  }

  LogicalResult differentiate(ModuleOp module, func::FuncOp model) {
    Block &body = model.getBody().front();
    Operation *terminator = body.getTerminator();
    Value loss = terminator->getOperand(0), count = terminator->getOperand(1);
    SmallVector<Operation *> forward = llvm::to_vector(llvm::make_pointer_range(body.without_terminator()));

    LayerListener listener;
    OpBuilder builder(terminator, &listener);
    if (Operation *lossOp = loss.getDefiningOp())
      listener.layer = lossOp->getAttr(layerAttributeName);
    AccumulateOp::create(builder, loss.getLoc(), loss, lossName);
    AccumulateOp::create(builder, count.getLoc(), count, countName);
    BeginBackwardOp::create(builder, terminator->getLoc());

    ReverseMode reverse(module, model, builder);
    if (!reverse.isWanted(loss))
      return model.emitError() << "the loss does not depend on any parameter";
    Value seed = FillOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(1.0));
    reverse.add(loss, seed);
    for (Operation *op : llvm::reverse(forward))
      if (failed(differentiate(op, reverse, builder, listener)))
        return failure();

    declareStates(module, model, reverse, loss.getType(), count.getType());
    finishFunction(model, terminator);
    return success();
  }

  LogicalResult differentiate(Operation *op, ReverseMode &reverse, OpBuilder &builder, LayerListener &listener) {
    bool hasGradient = llvm::any_of(op->getResults(), [&](Value result) { return bool(reverse.of(result)); });
    if (!hasGradient) {
      numSkipped += !isa<ReadOp>(op);
      return success();
    }
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitError() << "cannot be differentiated, but lies between a parameter and the loss";
    listener.layer = op->getAttr(layerAttributeName);
    listener.modelShare = op->getAttr(modelShareAttributeName);
    ++numDifferentiated;
    return differentiable.buildBackward(builder, reverse);
  }

  void declareStates(ModuleOp module, func::FuncOp model, ReverseMode &reverse, Type lossType, Type countType) {
    OpBuilder builder(model);
    for (auto parameter : module.getOps<ParameterOp>()) {
      auto used = reverse.usedParameters().find(parameter.getSymNameAttr());
      if (used == reverse.usedParameters().end()) {
        ++numUnusedParameters;
        continue;
      }
      StateOp::create(builder, parameter.getLoc(), StateRole::Gradient,
                      StringRef((parameter.getSymName() + ".gradient").str()), cast<RankedTensorType>(used->second),
                      FlatSymbolRefAttr::get(parameter.getSymNameAttr()), /*transient=*/true);
    }
    declareMetric(builder, model.getLoc(), lossName, lossType);
    declareMetric(builder, model.getLoc(), countName, countType);
  }

  static void finishFunction(func::FuncOp model, Operation *terminator) {
    Builder builder(model.getContext());
    terminator->setOperands({});
    terminator->removeAttr(layerAttributeName);
    model.setSymName("micro_batch");
    model.removeResAttrsAttr();
    model.setFunctionType(builder.getFunctionType(model.getArgumentTypes(), {}));
    model->setAttr(phaseAttributeName, builder.getStringAttr("micro_batch"));
  }
};

} // namespace
