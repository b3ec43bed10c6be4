//===- SetRegularization.cpp - choose dropout seed and loss terms ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which masks does dropout draw, and what does the loss measure besides the label's
// probability? The options of a run, written into the ops before differentiation:
//
//   tgpt.cross_entropy %logits, %labels   ->   ... {label_smoothing = 0.1, z_loss = 1.0e-4}
//
// Relies on: a verified L0 module. Leaves true: no shape or type changes.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/model/Passes.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace tgpt {
#define GEN_PASS_DEF_SETREGULARIZATION
#include "passes/model/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

struct SetRegularizationPass : tgpt::impl::SetRegularizationBase<SetRegularizationPass> {
  using SetRegularizationBase::SetRegularizationBase;

  void runOnOperation() override {
    bool isShare = labelSmoothing >= 0 && labelSmoothing < 1;
    if (!check(isShare, "label-smoothing", labelSmoothing, "a value in [0, 1)") ||
        !check(zLoss >= 0 && std::isfinite(zLoss), "z-loss", zLoss, "a finite value of at least 0"))
      return signalPassFailure();
    getOperation().walk([&](RandomStreamOpInterface random) {
      if (random.getStreamName().empty())
        return;
      random.setStreamSeed(static_cast<int64_t>(static_cast<uint64_t>(seed)));
      ++numSeeded;
    });
    getOperation().walk([&](CrossEntropyOp loss) { set(loss); });
  }

  void set(CrossEntropyOp loss) {
    if (labelSmoothing > 0)
      loss.setLabelSmoothing(APFloat(static_cast<double>(labelSmoothing)));
    if (zLoss > 0)
      loss.setZLoss(APFloat(static_cast<double>(zLoss)));
    ++(labelSmoothing > 0 || zLoss > 0 ? numLosses : numKept);
  }

  bool check(bool isLegal, StringRef name, double value, StringRef range) {
    if (isLegal)
      return true;
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", value);
    getOperation().emitError() << name << " is " << text << ", expected " << range;
    return false;
  }
};

} // namespace
