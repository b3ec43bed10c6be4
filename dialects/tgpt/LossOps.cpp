//===- LossOps.cpp - cross-entropy, whole and in steps, and its gradient ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loss_sum = sum over valid tokens of lse - logits[label]
//   dlogits = dloss (exp(logits - lse) - [label])
//
// cross_entropy needs whole rows of logits. Where the vocabulary is sharded the
// same sum is row_max (combined by max), softmax_sums (combined by sum), and
// token_loss on what they give.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

// logits [b, s, v] and one value a token.
static bool isPerToken(Operation *op, const NamedTensor &value, const NamedTensor &logits) {
  return Constraint(op, "C1").hasRank(value, 2) && Constraint(op, "C2").sameLeadingDims(value, logits, 2);
}

static bool isTokenStatistic(Operation *op, const NamedTensor &statistic, const NamedTensor &logits) {
  return isPerToken(op, statistic, logits) && Constraint(op, "C3").accumulates(statistic, logits);
}

// The label is looked up among the logits held here.
static constexpr unsigned logitsOperand = 0, vocabularyDim = 2;

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::verify() {
  NamedTensor logits("logits", getLogits());
  Constraint c3(*this, "C3");
  return success(Constraint(*this, "C1").hasRank(logits, 3) &&
                 isPerToken(*this, NamedTensor("labels", getLabels()), logits) &&
                 isTokenStatistic(*this, NamedTensor("lse", getLse()), logits) &&
                 c3.accumulates(NamedTensor("loss_sum", getLossSum()), logits) &&
                 c3.accumulates(NamedTensor("token_count", getTokenCount()), logits));
}

ShardingRule CrossEntropyOp::getShardingRule() {
  return ShardingRule::parse("abV,ab->,,ab").block("V");
}

// A logit: maximum, difference, exponential, sum. A token: logarithm, the maximum
// back, the label's logit, the sum, the count.
int64_t CrossEntropyOp::getFlops() {
  return 4 * elementsOf(getLogits()) + 5 * elementsOf(getLabels());
}

LogicalResult CrossEntropyOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (failed(expectNoGradient(*this, gradients, getLse(), "lse")))
    return failure();
  Value lossGrad = gradients.of(getLossSum());
  if (lossGrad && gradients.isWanted(getLogits()))
    addGradient(builder, gradients, getLogits(),
                CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getLabels(), getLse(),
                                           lossGrad));
  return success();
}

SmallVector<Value> CrossEntropyOp::getSavedForBackward() {
  return {getLogits(), getLabels(), getLse()};
}

bool CrossEntropyOp::hasAccumulationType(unsigned) {
  return true;
}

//===----------------------------------------------------------------------===//
// cross_entropy_grad
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyGradOp::verify() {
  NamedTensor logits("logits", getLogits()), logitsGrad("logits_grad", getLogitsGrad());
  Constraint c3(*this, "C3");
  return success(Constraint(*this, "C1").hasRank(logits, 3) &&
                 isPerToken(*this, NamedTensor("labels", getLabels()), logits) &&
                 isTokenStatistic(*this, NamedTensor("lse", getLse()), logits) &&
                 c3.accumulates(NamedTensor("loss_grad", getLossGrad()), logits) &&
                 Constraint(*this, "C2").sameShape(logitsGrad, logits) && c3.sameElementType(logitsGrad, logits));
}

ShardingRule CrossEntropyGradOp::getShardingRule() {
  return ShardingRule::parse("abV,ab,ab,->abV");
}

// A logit: difference, exponential, product. A token: the label's 1.
int64_t CrossEntropyGradOp::getFlops() {
  return 3 * elementsOf(getLogits()) + elementsOf(getLabels());
}

SmallVector<ShardOffset> CrossEntropyGradOp::getShardOffsets() {
  return {{"vocab_offset", logitsOperand, vocabularyDim}};
}

std::optional<unsigned> CrossEntropyGradOp::getInPlaceOperand(unsigned) {
  return logitsOperand;
}

//===----------------------------------------------------------------------===//
// row_max
//===----------------------------------------------------------------------===//

LogicalResult RowMaxOp::verify() {
  NamedTensor logits("logits", getLogits());
  return success(Constraint(*this, "C1").hasRank(logits, 3) &&
                 isTokenStatistic(*this, NamedTensor("maximum", getMaximum()), logits));
}

ShardingRule RowMaxOp::getShardingRule() {
  return ShardingRule::parse("abV->ab").reduceMax();
}

int64_t RowMaxOp::getFlops() {
  return elementsOf(getLogits());
}

//===----------------------------------------------------------------------===//
// softmax_sums
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxSumsOp::verify() {
  NamedTensor logits("logits", getLogits());
  return success(Constraint(*this, "C1").hasRank(logits, 3) &&
                 isPerToken(*this, NamedTensor("labels", getLabels()), logits) &&
                 isTokenStatistic(*this, NamedTensor("maximum", getMaximum()), logits) &&
                 isTokenStatistic(*this, NamedTensor("sum_exp", getSumExp()), logits) &&
                 isTokenStatistic(*this, NamedTensor("label_logit", getLabelLogit()), logits));
}

ShardingRule SoftmaxSumsOp::getShardingRule() {
  return ShardingRule::parse("abV,ab,ab->ab,ab");
}

// A logit: difference, exponential, sum.
int64_t SoftmaxSumsOp::getFlops() {
  return 3 * elementsOf(getLogits());
}

SmallVector<ShardOffset> SoftmaxSumsOp::getShardOffsets() {
  return {{"vocab_offset", logitsOperand, vocabularyDim}};
}

//===----------------------------------------------------------------------===//
// token_loss
//===----------------------------------------------------------------------===//

LogicalResult TokenLossOp::verify() {
  NamedTensor labels("labels", getLabels()), maximum("maximum", getMaximum());
  Constraint c2(*this, "C2"), c3(*this, "C3");
  for (const NamedTensor &tensor : {maximum, NamedTensor("sum_exp", getSumExp()),
                                    NamedTensor("label_logit", getLabelLogit()), NamedTensor("lse", getLse())})
    if (!Constraint(*this, "C1").hasRank(tensor, 2) || !c2.sameShape(tensor, labels) ||
        !c3.sameElementType(tensor, maximum))
      return failure();
  return success(c3.sameElementType(NamedTensor("loss_sum", getLossSum()), maximum) &&
                 c3.sameElementType(NamedTensor("token_count", getTokenCount()), maximum));
}

ShardingRule TokenLossOp::getShardingRule() {
  return ShardingRule::parse("ab,ab,ab,ab->,,ab");
}

// Logarithm, the maximum back, the label's logit, the sum, the count.
int64_t TokenLossOp::getFlops() {
  return 5 * elementsOf(getLabels());
}
