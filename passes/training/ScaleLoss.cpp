//===- ScaleLoss.cpp - scale the loss, skip steps that overflow ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What if gradients are too small, or too large, for a 16-bit type? The backward
// starts from a scale S instead of 1, and the update divides S out again:
//
//   %seed = tgpt.fill 1              ->   %seed = tgpt.read @loss_scale
//   clip_scale %n, %count            ->   clip_scale %n, %count, %S
//   adamw ..., %step                 ->   adamw ..., %applied       (0: does nothing)
//
// with %applied and the next S from tgpt.adjust_loss_scale, which looks at the
// squared gradient norm: the sum over all ranks, so that all decide alike.
//
// Relies on: @micro_batch of tgpt-differentiate and @update of tgpt-add-optimizer.
// Leaves true: every optimizer op of the update is guarded.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/training/OptionRange.h"
#include "passes/training/Passes.h"
#include "llvm/Support/Format.h"

namespace tgpt {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/training/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

constexpr StringLiteral scaleName = "loss_scale", goodName = "good_steps", skippedName = "skipped_steps";

/// The fills of 1 in the backward; what it computes again belongs to the forward.
SmallVector<FillOp> findSeeds(func::FuncOp microBatch) {
  SmallVector<FillOp> seeds;
  bool isBackward = false;
  for (Operation &op : microBatch.getBody().front()) {
    isBackward |= isa<BeginBackwardOp>(op);
    auto fill = dyn_cast<FillOp>(op);
    if (isBackward && fill && fill.getValue().isExactlyValue(1.0) && !op.hasAttr(recomputedAttributeName))
      seeds.push_back(fill);
  }
  return seeds;
}

struct ScaleLossPass : tgpt::impl::ScaleLossBase<ScaleLossPass> {
  using ScaleLossBase::ScaleLossBase;

  void runOnOperation() override {
    if (failed(checkOptions()) || failed(scale()))
      signalPassFailure();
  }

  LogicalResult checkOptions() {
    auto check = [&](bool isLegal, StringRef name, double value, StringRef range) {
      return checkOption(getOperation(), isLegal, name, value, range);
    };
    auto isFinite = [](double value) { return APFloat(value).isFinite(); };
    return success(
        succeeded(check(initial > 0 && isFinite(initial), "initial", initial, "a finite value above 0")) &&
        succeeded(check(growth >= 1 && isFinite(growth), "growth", growth, "a finite value of at least 1")) &&
        succeeded(check(backoff > 0 && backoff <= 1, "backoff", backoff, "a value above 0 and at most 1")) &&
        succeeded(check(growthInterval >= 1, "growth-interval", double(growthInterval), "at least 1")));
  }

  /// The scale is a number of the type that gradients are summed in, and a normal one.
  LogicalResult checkInitial(Type type) {
    APFloat number{double(initial)};
    bool isInexact = false;
    number.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &isInexact);
    if (number.isNormal())
      return success();
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", double(initial));
    return getOperation().emitError() << "initial is " << text << ", which is no normal number of " << type;
  }

  func::FuncOp findFunction(StringRef name, StringRef maker) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      getOperation().emitError() << "no function '@" << name << "', run " << maker << " first";
    return function;
  }

  LogicalResult scale() {
    func::FuncOp microBatch = findFunction("micro_batch", "tgpt-differentiate");
    func::FuncOp update = microBatch ? findFunction("update", "tgpt-add-optimizer") : func::FuncOp();
    if (!update)
      return failure();
    if (Operation *present = getOperation().lookupSymbol(skippedName))
      return present->emitError() << "the module has a loss scale already";
    SmallVector<FillOp> seeds = findSeeds(microBatch);
    SmallVector<ClipScaleOp> clips(update.getOps<ClipScaleOp>());
    if (seeds.size() != 1)
      return microBatch.emitError() << "the backward has " << seeds.size() << " seeds (fills of 1), expected one";
    if (clips.size() != 1)
      return update.emitError() << "the update has " << clips.size() << " tgpt.clip_scale, expected one";
    Value step = argumentNamed(update, "step");
    if (!step)
      return update.emitError() << "the update has no argument of the name 'step'";
    RankedTensorType scalar = clips.front().getScale().getType();
    if (failed(checkInitial(scalar.getElementType())))
      return failure();
    declareStates(microBatch, scalar);
    seedBackward(seeds.front());
    guardUpdate(update, clips.front(), step);
    return success();
  }

  void declareStates(func::FuncOp before, RankedTensorType scalar) {
    OpBuilder builder(before);
    auto declare = [&](StringRef name, FloatAttr value) {
      StateOp::create(builder, getOperation().getLoc(), StateRole::Scaling, name, scalar, FlatSymbolRefAttr(),
                      /*transient=*/false, value);
    };
    if (!fixed) {
      declare(scaleName, builder.getF64FloatAttr(initial));
      declare(goodName, {});
    }
    declare(skippedName, {});
  }

  void seedBackward(FillOp seed) {
    OpBuilder builder(seed);
    if (fixed)
      return seed.setValueAttr(builder.getF64FloatAttr(initial));
    auto read = ReadOp::create(builder, seed.getLoc(), seed.getOutput().getType(), scaleName);
    read->setDiscardableAttrs(seed->getDiscardableAttrDictionary());
    seed.getOutput().replaceAllUsesWith(read.getValue());
    seed.erase();
  }

  static Value argumentNamed(func::FuncOp function, StringRef name) {
    for (BlockArgument argument : function.getArguments())
      if (auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tgpt.name");
          given && given.getValue() == name)
        return argument;
    return {};
  }

  void guardUpdate(func::FuncOp update, ClipScaleOp clip, Value step) {
    OpBuilder builder(clip);
    Location loc = clip.getLoc();
    RankedTensorType scalar = clip.getScale().getType();
    auto read = [&](StringRef name) -> Value { return ReadOp::create(builder, loc, scalar, name); };
    auto constant = [&](double value) -> Value {
      return FillOp::create(builder, loc, scalar, builder.getF64FloatAttr(value));
    };
    Value lossScale = fixed ? constant(initial) : read(scaleName), good = fixed ? constant(0) : read(goodName);
    Value skipped = read(skippedName);
    auto adjust = AdjustLossScaleOp::create(
        builder, loc, scalar, scalar, scalar, scalar, clip.getNormSquared(), lossScale, good, skipped, step,
        builder.getF64FloatAttr(fixed ? 1.0 : backoff), builder.getF64FloatAttr(fixed ? 1.0 : growth),
        builder.getI64IntegerAttr(fixed ? 1 : growthInterval));
    if (!fixed) {
      WriteOp::create(builder, loc, adjust.getNewLossScale(), scaleName);
      WriteOp::create(builder, loc, adjust.getNewGoodSteps(), goodName);
    }
    WriteOp::create(builder, loc, adjust.getNewSkippedSteps(), skippedName);
    clip.getLossScaleMutable().assign(lossScale);
    for (auto adamw : update.getOps<AdamWOp>()) {
      adamw.getStepMutable().assign(adjust.getAppliedStep());
      ++numGuarded;
    }
    report(update, {lossScale, adjust.getNewSkippedSteps()}, {scaleName, skippedName});
  }

  /// Adds results to the function.
  static void report(func::FuncOp update, ValueRange values, ArrayRef<StringRef> names) {
    Builder builder(update.getContext());
    SmallVector<Attribute> attributes;
    for (unsigned i = 0; i < update.getNumResults(); ++i)
      attributes.push_back(builder.getDictionaryAttr(update.getResultAttrs(i)));
    for (StringRef name : names)
      attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr("tgpt.name", builder.getStringAttr(name))));
    Operation *terminator = update.getBody().front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), values);
    update.setFunctionType(builder.getFunctionType(update.getBody().getArgumentTypes(), terminator->getOperandTypes()));
    update.setResAttrsAttr(builder.getArrayAttr(attributes));
  }
};

} // namespace
