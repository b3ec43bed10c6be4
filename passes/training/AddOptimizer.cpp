//===- AddOptimizer.cpp - write the update of a step ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What happens once all micro-batches have added their gradients? The gradients,
// sums over all tokens of a step, are averaged and clipped by one factor, and
// AdamW moves each parameter:
//
//   norm  = sqrt(sum over parameters of |g|^2) / count
//   scale = min(1, max_norm / (norm + 1e-6)) / count
//   p, m, v = adamw(p, g scale, m, v, learning_rate, step)
//
// Relies on: the gradient states of tgpt-differentiate. Leaves true: every
// parameter with a gradient is written once in @update.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/training/OptionRange.h"
#include "passes/training/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/training/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// A parameter and what the optimizer keeps for it.
struct Trained {
  ParameterOp parameter;
  StateOp gradient, moment1, moment2;
  StateOp master; ///< null where the parameter itself is in the accumulation dtype
};

StateOp declareState(OpBuilder &builder, ParameterOp parameter, StateRole role, StringRef suffix,
                     RankedTensorType type) {
  return StateOp::create(builder, parameter.getLoc(), role, StringRef((parameter.getSymName() + suffix).str()), type,
                         FlatSymbolRefAttr::get(parameter.getSymNameAttr()), /*transient=*/false);
}

SmallVector<Trained> declareStates(ModuleOp module) {
  SmallVector<Trained> trained;
  SymbolTable symbols(module); // a look-up in the module itself is linear
  for (auto gradient : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    if (gradient.getRole() != StateRole::Gradient)
      continue;
    auto parameter = symbols.lookup<ParameterOp>(gradient.getParameterAttr().getAttr());
    OpBuilder builder(gradient->getContext());
    builder.setInsertionPointAfter(gradient);
    Trained entry{parameter,
                  gradient,
                  declareState(builder, parameter, StateRole::Moment1, ".moment1", gradient.getType()),
                  declareState(builder, parameter, StateRole::Moment2, ".moment2", gradient.getType()),
                  {}};
    if (parameter.getType() != gradient.getType())
      entry.master = declareState(builder, parameter, StateRole::Master, ".master", gradient.getType());
    trained.push_back(entry);
  }
  return trained;
}

struct AddOptimizerPass : tgpt::impl::AddOptimizerBase<AddOptimizerPass> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    for (StringRef metric : {"loss_sum", "token_count"})
      if (!getOperation().lookupSymbol<StateOp>(metric)) {
        getOperation().emitError() << "no state '@" << metric << "', run tgpt-differentiate first";
        return signalPassFailure();
      }
    SmallVector<Trained> trained = declareStates(getOperation());
    if (trained.empty()) {
      getOperation().emitError() << "no gradient states, run tgpt-differentiate first";
      return signalPassFailure();
    }
    buildUpdate(trained);
  }

  LogicalResult checkOptions() {
    auto check = [&](bool isLegal, StringRef name, double value, StringRef range) {
      return checkOption(getOperation(), isLegal, name, value, range);
    };
    return success(succeeded(check(maxGradNorm >= 0, "max-grad-norm", maxGradNorm, "at least 0 (0 does not clip)")) &&
                   succeeded(check(beta1 >= 0 && beta1 < 1, "beta1", beta1, "a value in [0, 1)")) &&
                   succeeded(check(beta2 >= 0 && beta2 < 1, "beta2", beta2, "a value in [0, 1)")) &&
                   succeeded(check(epsilon > 0, "epsilon", epsilon, "a value above 0")) &&
                   succeeded(check(weightDecay >= 0, "weight-decay", weightDecay, "at least 0")));
  }

  void buildUpdate(ArrayRef<Trained> trained) {
    ModuleOp module = getOperation();
    auto lossState = module.lookupSymbol<StateOp>("loss_sum");
    Type scalar = lossState.getType();
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    Location loc = module.getLoc();
    auto update = func::FuncOp::create(builder, loc, "update",
                                       builder.getFunctionType({scalar, scalar}, {scalar, scalar, scalar}));
    update->setAttr(phaseAttributeName, builder.getStringAttr("update"));
    update.setArgAttr(0, "tgpt.name", builder.getStringAttr("learning_rate"));
    update.setArgAttr(1, "tgpt.name", builder.getStringAttr("step"));
    const StringRef resultNames[] = {"loss", "grad_norm", "token_count"};
    for (auto [i, name] : llvm::enumerate(resultNames))
      update.setResultAttr(i, "tgpt.name", builder.getStringAttr(name));
    builder.setInsertionPointToStart(update.addEntryBlock());

    Value count = ReadOp::create(builder, loc, scalar, "token_count");
    SmallVector<Value> gradients, squares;
    for (Trained entry : trained) {
      Value gradient =
          ReadOp::create(builder, entry.parameter.getLoc(), entry.gradient.getType(), entry.gradient.getSymName());
      gradients.push_back(gradient);
      squares.push_back(SumSquaresOp::create(builder, entry.parameter.getLoc(), scalar, gradient));
    }
    Value normSquared = AddNOp::create(builder, loc, scalar, squares);
    auto clip = ClipScaleOp::create(builder, loc, scalar, scalar, normSquared, count, /*loss_scale=*/Value(),
                                    builder.getF64FloatAttr(maxGradNorm));
    for (auto [entry, gradient] : llvm::zip_equal(trained, gradients))
      buildAdamW(builder, entry, gradient, clip.getScale(), update.getArgument(0), update.getArgument(1));
    Value lossSum = ReadOp::create(builder, loc, scalar, "loss_sum");
    Value loss = DivideOp::create(builder, loc, scalar, lossSum, count);
    func::ReturnOp::create(builder, loc, ValueRange{loss, clip.getGradNorm(), count});
  }

  void buildAdamW(OpBuilder &builder, Trained entry, Value gradient, Value scale, Value learningRate, Value step) {
    ParameterOp parameter = entry.parameter;
    Location loc = parameter.getLoc();
    Type type = entry.gradient.getType();
    StringRef target = entry.master ? entry.master.getSymName() : parameter.getSymName();
    auto read = [&](StringRef symbol) -> Value { return ReadOp::create(builder, loc, type, symbol); };
    bool isDecayed = !parameter.getNoDecay();
    ++(isDecayed ? numDecayed : numUndecayed);

    StringRef moment1 = entry.moment1.getSymName(), moment2 = entry.moment2.getSymName();
    Value oldParameter = read(target), oldMoment1 = read(moment1), oldMoment2 = read(moment2);
    auto adamw = AdamWOp::create(builder, loc, type, type, type, oldParameter, gradient, oldMoment1, oldMoment2, scale,
                                 learningRate, step, builder.getF64FloatAttr(beta1), builder.getF64FloatAttr(beta2),
                                 builder.getF64FloatAttr(epsilon),
                                 builder.getF64FloatAttr(isDecayed ? double(weightDecay) : 0.0));
    WriteOp::create(builder, loc, adamw.getNewParameter(), target);
    WriteOp::create(builder, loc, adamw.getNewMoment1(), moment1);
    WriteOp::create(builder, loc, adamw.getNewMoment2(), moment2);
    if (entry.master) {
      Value rounded = CastOp::create(builder, loc, parameter.getType(), adamw.getNewParameter());
      WriteOp::create(builder, loc, rounded, parameter.getSymName());
    }
  }
};

} // namespace
