//===- SplitLoss.cpp - cross-entropy as steps that may be sharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How is the loss computed when no rank holds all logits of a token? The vocabulary is cut
// into equal parts. What a part adds to a token's loss is two numbers, three where labels are
// smoothed, and the loss follows from those of all parts:
//
//   lse = log(sum over parts of exp(lse of the part)),   loss = lse - logit[label]
//
// A rank holds whole parts, so one pass over its logits and one all_gather of small numbers
// are enough; what is gathered is the same whichever rank computed it.
//
// Relies on: nothing. Leaves true: no tgpt.cross_entropy remains; its backward,
// local whatever shards the vocabulary, is untouched.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/sharding/Passes.h"
#include <numeric>

namespace tgpt {
#define GEN_PASS_DEF_SPLITLOSS
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

// [part, statistic, batch, sequence]: a third statistic, the mean logit's, where labels are smoothed.
RankedTensorType statisticsType(CrossEntropyOp op, int64_t parts) {
  RankedTensorType lse = op.getLse().getType();
  int64_t columns = op.getLogits().getType().getShape().back();
  SmallVector<int64_t> shape = {ShapedType::isDynamic(columns) ? 1 : std::gcd(parts, columns),
                                op.getLabelSmoothing().isZero() ? 2 : 3};
  llvm::append_range(shape, lse.getShape());
  return RankedTensorType::get(shape, lse.getElementType());
}

void split(CrossEntropyOp op, int64_t parts) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto statistics = LossStatisticsOp::create(builder, loc, statisticsType(op, parts), op.getLogits(), op.getLabels(),
                                             op.getVocabularyAttr());
  auto loss =
      TokenLossOp::create(builder, loc, op.getLossSum().getType(), op.getTokenCount().getType(), op.getLse().getType(),
                          op.getLabels(), statistics.getStatistics(), op.getLabelSmoothingAttr(), op.getZLossAttr());
  for (Operation *step : {statistics.getOperation(), loss.getOperation()})
    step->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(loss);
  op->erase();
}

struct SplitLossPass : tgpt::impl::SplitLossBase<SplitLossPass> {
  using SplitLossBase::SplitLossBase;

  void runOnOperation() override {
    if (parts < 1) {
      getOperation().emitError() << "parts is " << int64_t(parts) << ", but the vocabulary is cut into 1 part or more";
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      numKept += isa<CrossEntropyGradOp>(op);
      if (auto loss = dyn_cast<CrossEntropyOp>(op)) {
        split(loss, parts); // erases the op
        ++numSplit;
      }
    });
  }
};

} // namespace
