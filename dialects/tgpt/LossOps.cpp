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
// cross_entropy needs whole rows of logits. Where the vocabulary is sharded the same sum
// is loss_statistics, of parts of the vocabulary, and token_loss on those of all ranks.
// Columns that a padded vocabulary adds are left out of all of it.
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
  return cost::tokenLossWorkspace(elementsOf(getLabels()));
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
// loss_statistics
//===----------------------------------------------------------------------===//

// The dims of statistics before those of a token.
static constexpr int64_t partDim = 0, statisticDim = 1, tokenDim = 2;

static bool isSmoothed(RankedTensorType statistics) {
  return statistics.getDimSize(statisticDim) == 3;
}

// [part, statistic, batch, sequence], of these labels.
static bool arePartsOf(Operation *op, const NamedTensor &statistics, const NamedTensor &labels) {
  Constraint c2(op, "C2");
  return Constraint(op, "C1").hasRank(statistics, tokenDim + 2) && c2.sameDim(statistics, tokenDim, labels, 0) &&
         c2.sameDim(statistics, tokenDim + 1, labels, 1);
}

// Of all ranks together.
static bool cutsColumns(LossStatisticsOp op) {
  int64_t columns = globalShapeOf(op.getLogits().getType()).back();
  int64_t parts = globalShapeOf(op.getStatistics().getType())[partDim];
  int64_t kinds = op.getStatistics().getType().getDimSize(statisticDim);
  Constraint c5(op, "C5");
  bool isWhole = ShapedType::isDynamic(columns) || ShapedType::isDynamic(parts) || (parts > 0 && columns % parts == 0);
  return c5.holds(isWhole, Twine(columns) + " columns are not " + Twine(parts) + " equal parts") &&
         c5.holds(kinds == 2 || kinds == 3,
                  "statistics dim " + Twine(statisticDim) + " is " + Twine(kinds) + ", expected 2 or 3");
}

LogicalResult LossStatisticsOp::verify() {
  NamedTensor logits("logits", getLogits()), labels("labels", getLabels()), statistics("statistics", getStatistics());
  return success(Constraint(*this, "C1").hasRank(logits, 3) && isPerToken(*this, labels, logits) &&
                 arePartsOf(*this, statistics, labels) && Constraint(*this, "C3").accumulates(statistics, logits) &&
                 hasLegalVocabulary(*this, "C4") && cutsColumns(*this));
}

// k, the statistics, are in no shard: all of a part's are on its rank.
ShardingRule LossStatisticsOp::getShardingRule() {
  return ShardingRule::parse("abV,ab->Vkab").block("k");
}

// A logit: maximum, difference, exponential, sum; another sum where labels are smoothed. A
// statistic: the logarithm, the look-up, the division.
int64_t LossStatisticsOp::getFlops() {
  return (isSmoothed(getStatistics().getType()) ? 5 : 4) * elementsOf(getLogits()) + elementsOf(getStatistics());
}

NamedAttrList LossStatisticsOp::getKernelAttributes() {
  NamedAttrList attributes;
  if (isSmoothed(getStatistics().getType()))
    attributes.append("vocabulary", wholeVocabulary(*this));
  addPadding(*this, attributes);
  return attributes;
}

SmallVector<ShardOffset> LossStatisticsOp::getShardOffsets() {
  return {{"vocab_offset", logitsOperand, vocabularyDim}};
}

//===----------------------------------------------------------------------===//
// token_loss
//===----------------------------------------------------------------------===//

LogicalResult TokenLossOp::verify() {
  NamedTensor labels("labels", getLabels()), statistics("statistics", getStatistics()), lse("lse", getLse());
  Constraint c3(*this, "C3");
  if (!arePartsOf(*this, statistics, labels) || !Constraint(*this, "C1").hasRank(lse, 2) ||
      !Constraint(*this, "C2").sameShape(lse, labels) || !c3.sameElementType(lse, statistics) ||
      !c3.sameElementType(NamedTensor("loss_sum", getLossSum()), statistics) ||
      !c3.sameElementType(NamedTensor("token_count", getTokenCount()), statistics) || !hasLegalTerms(*this))
    return failure();
  int64_t kinds = statistics.type.getDimSize(statisticDim), expected = getLabelSmoothing().isZero() ? 2 : 3;
  return success(Constraint(*this, "C5")
                     .holds(kinds == expected, "statistics dim " + Twine(statisticDim) + " is " + Twine(kinds) +
                                                   ", expected " + Twine(expected) + " as label_smoothing is " +
                                                   (expected == 2 ? "0" : "not 0")));
}

NamedAttrList TokenLossOp::getKernelAttributes() {
  return termsOf(*this);
}

// c, the parts, are those of all ranks.
ShardingRule TokenLossOp::getShardingRule() {
  return ShardingRule::parse("ab,ckab->,,ab").block("ck");
}

// A part of a token: difference, exponential, sum. A token: logarithm, the maximum back, the
// label's logit, the sum, the count.
int64_t TokenLossOp::getFlops() {
  int64_t tokens = elementsOf(getLabels());
  return 5 * tokens + 3 * tokens * getStatistics().getType().getDimSize(partDim);
}

int64_t TokenLossOp::getWorkspaceBytes() {
  return cost::tokenLossWorkspace(elementsOf(getLabels()));
}

// The tokens of one sample after those of the other.
std::optional<ChunkedDim> TokenLossOp::getChunkedDim() {
  return ChunkedDim{0, 0, ChunkedDim::Cut::EachElement};
}
