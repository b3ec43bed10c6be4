//===- LossOps.cpp - cross-entropy, whole and in steps, and its gradient ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   loss_sum = sum over valid tokens of lse - (1-e) logits[label] - e mean(logits) + z lse^2
//   dlogits = dloss ((1 + 2 z lse) exp(logits - lse) - (1-e) [label] - e/V)
//
// with e = label_smoothing and z = z_loss, both 0 unless asked for.
//
// cross_entropy needs whole rows of logits. Where the vocabulary is sharded the
// same sum is row_max (combined by max), softmax_sums and row_mean (combined by sum),
// and token_loss on what they give. Columns that a padded vocabulary adds are left out
// of all of it.
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

// What all ops with a part in the loss may be told (C4).
template <typename LossOp> static bool hasLegalTerms(LossOp op) {
  Constraint c4(op, "C4");
  return c4.isShare("label_smoothing", op.getLabelSmoothing()) && c4.isNotNegative("z_loss", op.getZLoss());
}

// The columns that are no padding.
template <typename LossOp> static bool hasLegalVocabulary(LossOp op, StringRef label) {
  std::optional<uint64_t> vocabulary = op.getVocabulary();
  int64_t columns = globalShapeOf(op.getLogits().getType()).back();
  return Constraint(op, label).holds(!vocabulary || (int64_t(*vocabulary) >= 1 && int64_t(*vocabulary) <= columns),
                                     "vocabulary is " + Twine(int64_t(vocabulary.value_or(0))) + ", expected 1 to " +
                                         Twine(columns));
}

// Terms that are 0 are not mentioned.
template <typename LossOp> static NamedAttrList termsOf(LossOp op) {
  NamedAttrList terms;
  if (!op.getLabelSmoothing().isZero())
    terms.append("label_smoothing", op.getLabelSmoothingAttr());
  if (!op.getZLoss().isZero())
    terms.append("z_loss", op.getZLossAttr());
  return terms;
}

// The number of columns of the logits on all ranks together, but padding.
template <typename LossOp> static IntegerAttr wholeVocabulary(LossOp op) {
  if (IntegerAttr vocabulary = op.getVocabularyAttr())
    return vocabulary;
  return Builder(op.getContext()).getI64IntegerAttr(globalShapeOf(op.getLogits().getType()).back());
}

// Padding is mentioned where there is any.
template <typename LossOp> static void addPadding(LossOp op, NamedAttrList &attributes) {
  if (IntegerAttr vocabulary = op.getVocabularyAttr())
    attributes.set("vocabulary", vocabulary);
}

// The label is looked up among the logits held here.
static constexpr unsigned logitsOperand = 0, vocabularyDim = 2;

// Which columns are padding depends on where the shard begins.
template <typename LossOp> static SmallVector<ShardOffset> offsetsWithPadding(LossOp op) {
  if (!op.getVocabulary())
    return {};
  return {{"vocab_offset", logitsOperand, vocabularyDim}};
}

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
                 c3.accumulates(NamedTensor("token_count", getTokenCount()), logits) && hasLegalTerms(*this) &&
                 hasLegalVocabulary(*this, "C5"));
}

NamedAttrList CrossEntropyOp::getKernelAttributes() {
  NamedAttrList attributes = termsOf(*this);
  addPadding(*this, attributes);
  return attributes;
}

ShardingRule CrossEntropyOp::getShardingRule() {
  return ShardingRule::parse("abV,ab->,,ab").block("V");
}

// A logit: maximum, difference, exponential, sum. A token: logarithm, the maximum
// back, the label's logit, the sum, the count.
int64_t CrossEntropyOp::getFlops() {
  return 4 * elementsOf(getLogits()) + 5 * elementsOf(getLabels());
}

int64_t CrossEntropyOp::getWorkspaceBytes() {
  return cost::crossEntropyWorkspace(elementsOf(getLabels()));
}

LogicalResult CrossEntropyOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (failed(expectNoGradient(*this, gradients, getLse(), "lse")))
    return failure();
  Value lossGrad = gradients.of(getLossSum());
  if (lossGrad && gradients.isWanted(getLogits()))
    addGradient(builder, gradients, getLogits(),
                CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getLabels(), getLse(),
                                           lossGrad, getLabelSmoothingAttr(), getZLossAttr(), getVocabularyAttr()));
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
                 Constraint(*this, "C2").sameShape(logitsGrad, logits) && c3.sameElementType(logitsGrad, logits) &&
                 hasLegalTerms(*this) && hasLegalVocabulary(*this, "C5"));
}

NamedAttrList CrossEntropyGradOp::getKernelAttributes() {
  NamedAttrList attributes = termsOf(*this);
  if (!getLabelSmoothing().isZero())
    attributes.append("vocabulary", wholeVocabulary(*this));
  addPadding(*this, attributes);
  return attributes;
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
                 isTokenStatistic(*this, NamedTensor("maximum", getMaximum()), logits) &&
                 hasLegalVocabulary(*this, "C4"));
}

NamedAttrList RowMaxOp::getKernelAttributes() {
  NamedAttrList attributes;
  addPadding(*this, attributes);
  return attributes;
}

SmallVector<ShardOffset> RowMaxOp::getShardOffsets() {
  return offsetsWithPadding(*this);
}

ShardingRule RowMaxOp::getShardingRule() {
  return ShardingRule::parse("abV->ab").reduceMax();
}

int64_t RowMaxOp::getFlops() {
  return elementsOf(getLogits());
}

//===----------------------------------------------------------------------===//
// row_mean
//===----------------------------------------------------------------------===//

LogicalResult RowMeanOp::verify() {
  NamedTensor logits("logits", getLogits());
  return success(Constraint(*this, "C1").hasRank(logits, 3) &&
                 isTokenStatistic(*this, NamedTensor("mean", getMean()), logits) && hasLegalVocabulary(*this, "C4"));
}

ShardingRule RowMeanOp::getShardingRule() {
  return ShardingRule::parse("abV->ab");
}

// The columns, of which each rank may hold some.
std::optional<ChunkedDim> RowMeanOp::getChunkedDim() {
  return ChunkedDim{logitsOperand, vocabularyDim};
}

// A sum a logit, a division a token.
int64_t RowMeanOp::getFlops() {
  return elementsOf(getLogits()) + elementsOf(getMean());
}

NamedAttrList RowMeanOp::getKernelAttributes() {
  NamedAttrList attributes;
  attributes.append("vocabulary", wholeVocabulary(*this));
  return attributes;
}

SmallVector<ShardOffset> RowMeanOp::getShardOffsets() {
  return offsetsWithPadding(*this);
}

//===----------------------------------------------------------------------===//
// softmax_sums
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxSumsOp::verify() {
  NamedTensor logits("logits", getLogits());
  return success(
      Constraint(*this, "C1").hasRank(logits, 3) && isPerToken(*this, NamedTensor("labels", getLabels()), logits) &&
      isTokenStatistic(*this, NamedTensor("maximum", getMaximum()), logits) &&
      isTokenStatistic(*this, NamedTensor("sum_exp", getSumExp()), logits) &&
      isTokenStatistic(*this, NamedTensor("label_logit", getLabelLogit()), logits) && hasLegalVocabulary(*this, "C4"));
}

ShardingRule SoftmaxSumsOp::getShardingRule() {
  return ShardingRule::parse("abV,ab,ab->ab,ab");
}

// A logit: difference, exponential, sum.
int64_t SoftmaxSumsOp::getFlops() {
  return 3 * elementsOf(getLogits());
}

std::optional<ChunkedDim> SoftmaxSumsOp::getChunkedDim() {
  return ChunkedDim{logitsOperand, vocabularyDim};
}

NamedAttrList SoftmaxSumsOp::getKernelAttributes() {
  NamedAttrList attributes;
  addPadding(*this, attributes);
  return attributes;
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
  SmallVector<NamedTensor> perToken = {maximum, NamedTensor("sum_exp", getSumExp()),
                                       NamedTensor("label_logit", getLabelLogit()), NamedTensor("lse", getLse())};
  if (getMeanLogit())
    perToken.push_back(NamedTensor("mean_logit", getMeanLogit()));
  for (const NamedTensor &tensor : perToken)
    if (!Constraint(*this, "C1").hasRank(tensor, 2) || !c2.sameShape(tensor, labels) ||
        !c3.sameElementType(tensor, maximum))
      return failure();
  return success(c3.sameElementType(NamedTensor("loss_sum", getLossSum()), maximum) &&
                 c3.sameElementType(NamedTensor("token_count", getTokenCount()), maximum) && hasLegalTerms(*this) &&
                 Constraint(*this, "C5")
                     .holds(bool(getMeanLogit()) != getLabelSmoothing().isZero(),
                            getMeanLogit() ? "has a mean_logit, but label_smoothing is 0"
                                           : "has no mean_logit, but label_smoothing is not 0"));
}

NamedAttrList TokenLossOp::getKernelAttributes() {
  return termsOf(*this);
}

ShardingRule TokenLossOp::getShardingRule() {
  return ShardingRule::parse(getMeanLogit() ? "ab,ab,ab,ab,ab->,,ab" : "ab,ab,ab,ab->,,ab");
}

// Logarithm, the maximum back, the label's logit, the sum, the count.
int64_t TokenLossOp::getFlops() {
  return 5 * elementsOf(getLabels());
}

int64_t TokenLossOp::getWorkspaceBytes() {
  return cost::tokenLossWorkspace(elementsOf(getLabels()), localChunksOf(*this));
}

// The tokens of one sample after those of the other.
std::optional<ChunkedDim> TokenLossOp::getChunkedDim() {
  return ChunkedDim{0, 0, ChunkedDim::Cut::EachElement};
}
