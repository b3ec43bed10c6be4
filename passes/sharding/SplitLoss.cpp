//===- SplitLoss.cpp - cross-entropy as steps that may be sharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How is the loss computed when no rank holds all logits of a token? Each step of
//
//   lse = max + log(sum exp(logit - max)),   loss = lse - logit[label]
//
// reduces over the vocabulary by itself, so its sharding rule says it all. Smoothed
// labels need the mean logit as well: one more step.
//
// Relies on: nothing. Leaves true: no tgpt.cross_entropy remains; its backward,
// local whatever shards the vocabulary, is untouched.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_SPLITLOSS
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

void split(CrossEntropyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type row = op.getLse().getType();
  auto maximum = RowMaxOp::create(builder, loc, row, op.getLogits(), op.getVocabularyAttr());
  auto sums = SoftmaxSumsOp::create(builder, loc, row, row, op.getLogits(), op.getLabels(), maximum.getMaximum(),
                                    op.getVocabularyAttr());
  SmallVector<Operation *> steps = {maximum, sums};
  Value meanLogit;
  if (!op.getLabelSmoothing().isZero()) {
    meanLogit = RowMeanOp::create(builder, loc, row, op.getLogits(), op.getVocabularyAttr());
    steps.push_back(meanLogit.getDefiningOp());
  }
  auto loss = TokenLossOp::create(builder, loc, op.getLossSum().getType(), op.getTokenCount().getType(), row,
                                  op.getLabels(), maximum.getMaximum(), sums.getSumExp(), sums.getLabelLogit(),
                                  meanLogit, op.getLabelSmoothingAttr(), op.getZLossAttr());
  steps.push_back(loss);
  for (Operation *step : steps)
    step->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(loss);
  op->erase();
}

struct SplitLossPass : tgpt::impl::SplitLossBase<SplitLossPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      numKept += isa<CrossEntropyGradOp>(op);
      if (auto loss = dyn_cast<CrossEntropyOp>(op)) {
        split(loss); // erases the op
        ++numSplit;
      }
    });
  }
};

} // namespace
