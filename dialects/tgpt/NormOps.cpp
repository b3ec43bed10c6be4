//===- NormOps.cpp - rms_norm, layer_norm and their gradients ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of d elements. With g = dy w and xhat the normalised row:
//
//   rms_norm     y = xhat w          dx = rstd (g - xhat mean(g xhat))
//   head_norm    the same, a row of the input being several rows of c elements (heads)
//   layer_norm   y = xhat w + bias   dx = rstd (g - mean(g) - xhat mean(g xhat))
//   both         dw = sum over rows of dy xhat;  layer_norm: dbias = sum of dy
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

// A vector of one value per feature: weight, bias or the gradient of one.
static bool isFeatureVector(Operation *op, const NamedTensor &vector, const NamedTensor &input) {
  return Constraint(op, "C1").hasRank(vector, 1) && Constraint(op, "C2").sameDim(vector, 0, input, input.rank() - 1);
}

// A gradient a sample of a vector that has the size of dim `dim` of `vector`.
static bool isGradientBySample(Operation *op, const NamedTensor &gradient, const NamedTensor &vector, int64_t dim,
                               const NamedTensor &input) {
  Constraint c2(op, "C2");
  return Constraint(op, "C1").hasRank(input, 3) && c2.sameDim(gradient, 0, input, 0) &&
         c2.sameDim(gradient, 1, vector, dim);
}

// The gradient of a vector of one value per feature, or one a sample.
static bool isFeatureGradient(Operation *op, const NamedTensor &gradient, const NamedTensor &input) {
  return gradient.rank() == 2 ? isGradientBySample(op, gradient, input, input.rank() - 1, input)
                              : isFeatureVector(op, gradient, input);
}

// Makes the gradients of vectors, results `first` and those after it, one a sample each,
// and adds them in an op of its own.
static void giveGradientsBySample(Operation *op, unsigned first, RankedTensorType input, OpBuilder &builder) {
  for (OpResult result : op->getResults().drop_front(first)) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getRank() != 1 || input.getRank() != 3)
      continue;
    result.setType(RankedTensorType::get({input.getDimSize(0), type.getDimSize(0)}, type.getElementType()));
    auto sum = SumLeadingOp::create(builder, op->getLoc(), type, result);
    sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    result.replaceAllUsesExcept(sum.getOutput(), sum);
  }
}

// The factors of the gradient of a vector over `factor`.
static std::string vectorGradientFactors(Value gradient, StringRef factor) {
  bool isBySample = cast<RankedTensorType>(gradient.getType()).getRank() == 2;
  return (isBySample ? "a" : "") + factor.str();
}

// What the gradients of `vectors` parameters take, each with the size of `weight`.
static int64_t gradientWorkspaceBytes(Operation *op, int64_t vectors, Value input, Value weight) {
  int64_t width = elementsOf(weight), samples = cast<RankedTensorType>(input.getType()).getDimSize(0);
  return cost::normGradWorkspace(vectors, elementsOf(input) / width, width, samples, localChunksOf(op),
                                 sumElementBytes(weight));
}

// A statistic of one value per row.
static bool isRowStatistic(Operation *op, const NamedTensor &statistic, const NamedTensor &input) {
  return Constraint(op, "C1").hasRank(statistic, input.rank() - 1) &&
         Constraint(op, "C2").sameLeadingDims(statistic, input, statistic.rank()) &&
         Constraint(op, "C3").accumulates(statistic, input);
}

// A tensor of the input's very shape and element type.
static bool isLikeInput(Operation *op, const NamedTensor &tensor, const NamedTensor &input) {
  return Constraint(op, "C2").sameShape(tensor, input) && Constraint(op, "C3").sameElementType(tensor, input);
}

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  NamedTensor input("input", getInput()), weight("weight", getWeight());
  NamedTensor output("output", getOutput()), rstd("rstd", getRstd());
  return success(Constraint(*this, "C1").hasRankAtLeast(input, 1) && isFeatureVector(*this, weight, input) &&
                 Constraint(*this, "C3").sameElementType(weight, input) && isLikeInput(*this, output, input) &&
                 isRowStatistic(*this, rstd, input) && Constraint(*this, "C4").isNotNegative("epsilon", getEpsilon()));
}

ShardingRule RmsNormOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1);
  return ShardingRule::parse(rows + "D,D->" + rows + "D," + rows).block("D");
}

// A square-sum (2) and two products an element; mean, epsilon, root and inverse a row.
int64_t RmsNormOp::getFlops() {
  return 4 * elementsOf(getInput()) + 4 * rowsOf(getInput());
}

LogicalResult RmsNormOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (failed(expectNoGradient(*this, gradients, getRstd(), "rstd")))
    return failure();
  if (!gradients.isWanted(getInput()) && !gradients.isWanted(getWeight()))
    return success();
  auto grad = RmsNormGradOp::create(builder, getLoc(), getInput().getType(), weightGradientType(getWeight()),
                                    gradients.of(getOutput()), getInput(), getWeight(), getRstd());
  addGradient(builder, gradients, getInput(), grad.getInputGrad());
  addGradient(builder, gradients, getWeight(), grad.getWeightGrad());
  return success();
}

SmallVector<Value> RmsNormOp::getSavedForBackward() {
  return {getInput(), getWeight(), getRstd()};
}

LogicalResult RmsNormGradOp::verify() {
  NamedTensor outputGrad("output_grad", getOutputGrad()), input("input", getInput()), weight("weight", getWeight());
  NamedTensor rstd("rstd", getRstd()), inputGrad("input_grad", getInputGrad());
  NamedTensor weightGrad("weight_grad", getWeightGrad());
  Constraint c3(*this, "C3");
  return success(Constraint(*this, "C1").hasRankAtLeast(input, 1) && isFeatureVector(*this, weight, input) &&
                 c3.sameElementType(weight, input) && isLikeInput(*this, outputGrad, input) &&
                 isRowStatistic(*this, rstd, input) && isLikeInput(*this, inputGrad, input) &&
                 isFeatureGradient(*this, weightGrad, input) && c3.accumulates(weightGrad, input));
}

ShardingRule RmsNormGradOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1), row = rows + "D";
  return ShardingRule::parse(row + "," + row + ",D," + rows + "->" + row + "," +
                             vectorGradientFactors(getWeightGrad(), "D"))
      .block("D");
}

// xhat, g (2), mean(g xhat) (2), dx (3), dw (2) an element; one division a row.
int64_t RmsNormGradOp::getFlops() {
  return 9 * elementsOf(getInput()) + rowsOf(getInput());
}

int64_t RmsNormGradOp::getWorkspaceBytes() {
  return gradientWorkspaceBytes(*this, 1, getInput(), getWeight());
}

bool RmsNormGradOp::canAccumulate(unsigned i) {
  return i == 1 && getWeightGrad().getType().getRank() == 1;
}

// The positions of a sample.
std::optional<ChunkedDim> RmsNormGradOp::getChunkedDim() {
  return ChunkedDim{1, 1};
}

void RmsNormGradOp::sumBySample(OpBuilder &builder) {
  giveGradientsBySample(*this, 1, getInput().getType(), builder);
}

//===----------------------------------------------------------------------===//
// head_norm
//===----------------------------------------------------------------------===//

// An input [batch, sequence, heads x c] and a weight [c].
static bool holdsNormedHeads(Operation *op, const NamedTensor &input, const NamedTensor &weight,
                             const APFloat &epsilon) {
  Constraint c1(op, "C1"), c2(op, "C2");
  return c1.hasRank(input, 3) && c1.hasRank(weight, 1) &&
         c1.holds(weight.type.getDimSize(0) > 0, "the weight's size is not known to be at least 1") &&
         c2.isMultiple(input, 2, weight.type.getDimSize(0), "the weight's size") &&
         Constraint(op, "C3").sameElementType(weight, input) && Constraint(op, "C4").isNotNegative("epsilon", epsilon);
}

LogicalResult HeadNormOp::verify() {
  NamedTensor input("input", getInput()), weight("weight", getWeight()), output("output", getOutput());
  return success(holdsNormedHeads(*this, input, weight, getEpsilon()) && isLikeInput(*this, output, input));
}

ShardingRule HeadNormOp::getShardingRule() {
  return ShardingRule::parse("abH,D->abH").block("D").granular('H', getWeight().getType().getDimSize(0), "head");
}

// As rms_norm, a head being a row.
int64_t HeadNormOp::getFlops() {
  return 4 * elementsOf(getInput()) + 4 * elementsOf(getInput()) / widthOf(getWeight());
}

LogicalResult HeadNormOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (!gradients.isWanted(getInput()) && !gradients.isWanted(getWeight()))
    return success();
  auto grad = HeadNormGradOp::create(builder, getLoc(), getInput().getType(), weightGradientType(getWeight()),
                                     gradients.of(getOutput()), getInput(), getWeight(), getEpsilonAttr());
  addGradient(builder, gradients, getInput(), grad.getInputGrad());
  addGradient(builder, gradients, getWeight(), grad.getWeightGrad());
  return success();
}

SmallVector<Value> HeadNormOp::getSavedForBackward() {
  return {getInput(), getWeight()};
}

LogicalResult HeadNormGradOp::verify() {
  NamedTensor outputGrad("output_grad", getOutputGrad()), input("input", getInput()), weight("weight", getWeight());
  NamedTensor inputGrad("input_grad", getInputGrad()), weightGrad("weight_grad", getWeightGrad());
  return success(holdsNormedHeads(*this, input, weight, getEpsilon()) && isLikeInput(*this, outputGrad, input) &&
                 isLikeInput(*this, inputGrad, input) &&
                 (weightGrad.rank() == 2 ? isGradientBySample(*this, weightGrad, weight, 0, input)
                                         : Constraint(*this, "C2").sameShape(weightGrad, weight)) &&
                 Constraint(*this, "C3").accumulates(weightGrad, input));
}

ShardingRule HeadNormGradOp::getShardingRule() {
  return ShardingRule::parse("abH,abH,D->abH," + vectorGradientFactors(getWeightGrad(), "D"))
      .block("D")
      .granular('H', getWeight().getType().getDimSize(0), "head")
      .linearIn({0});
}

// rms_norm_grad and, for rstd, a square-sum (2) an element and four operations a head.
int64_t HeadNormGradOp::getFlops() {
  return 11 * elementsOf(getInput()) + 5 * elementsOf(getInput()) / widthOf(getWeight());
}

int64_t HeadNormGradOp::getWorkspaceBytes() {
  return gradientWorkspaceBytes(*this, 1, getInput(), getWeight());
}

bool HeadNormGradOp::canAccumulate(unsigned i) {
  return i == 1 && getWeightGrad().getType().getRank() == 1;
}

// The heads of a sample.
std::optional<ChunkedDim> HeadNormGradOp::getChunkedDim() {
  return ChunkedDim{1, 2, ChunkedDim::Cut::IntoChunks, getWeight().getType().getDimSize(0)};
}

void HeadNormGradOp::sumBySample(OpBuilder &builder) {
  giveGradientsBySample(*this, 1, getInput().getType(), builder);
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  NamedTensor input("input", getInput()), weight("weight", getWeight()), bias("bias", getBias());
  NamedTensor output("output", getOutput()), mean("mean", getMean()), rstd("rstd", getRstd());
  Constraint c3(*this, "C3");
  return success(Constraint(*this, "C1").hasRankAtLeast(input, 1) && isFeatureVector(*this, weight, input) &&
                 c3.sameElementType(weight, input) && isFeatureVector(*this, bias, input) &&
                 c3.sameElementType(bias, input) && isLikeInput(*this, output, input) &&
                 isRowStatistic(*this, mean, input) && isRowStatistic(*this, rstd, input) &&
                 Constraint(*this, "C4").isNotNegative("epsilon", getEpsilon()));
}

ShardingRule LayerNormOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1);
  return ShardingRule::parse(rows + "D,D,D->" + rows + "D," + rows + "," + rows).block("D");
}

// Mean (1), variance (3), difference, two products and a sum (4) an element; two
// means, epsilon, root and inverse a row.
int64_t LayerNormOp::getFlops() {
  return 8 * elementsOf(getInput()) + 5 * rowsOf(getInput());
}

LogicalResult LayerNormOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (failed(expectNoGradient(*this, gradients, getMean(), "mean")) ||
      failed(expectNoGradient(*this, gradients, getRstd(), "rstd")))
    return failure();
  if (!gradients.isWanted(getInput()) && !gradients.isWanted(getWeight()) && !gradients.isWanted(getBias()))
    return success();
  auto grad = LayerNormGradOp::create(builder, getLoc(), getInput().getType(), weightGradientType(getWeight()),
                                      weightGradientType(getBias()), gradients.of(getOutput()), getInput(), getWeight(),
                                      getMean(), getRstd());
  addGradient(builder, gradients, getInput(), grad.getInputGrad());
  addGradient(builder, gradients, getWeight(), grad.getWeightGrad());
  addGradient(builder, gradients, getBias(), grad.getBiasGrad());
  return success();
}

SmallVector<Value> LayerNormOp::getSavedForBackward() {
  return {getInput(), getWeight(), getMean(), getRstd()};
}

LogicalResult LayerNormGradOp::verify() {
  NamedTensor outputGrad("output_grad", getOutputGrad()), input("input", getInput()), weight("weight", getWeight());
  NamedTensor mean("mean", getMean()), rstd("rstd", getRstd()), inputGrad("input_grad", getInputGrad());
  NamedTensor weightGrad("weight_grad", getWeightGrad()), biasGrad("bias_grad", getBiasGrad());
  Constraint c3(*this, "C3");
  return success(Constraint(*this, "C1").hasRankAtLeast(input, 1) && isFeatureVector(*this, weight, input) &&
                 c3.sameElementType(weight, input) && isLikeInput(*this, outputGrad, input) &&
                 isRowStatistic(*this, mean, input) && isRowStatistic(*this, rstd, input) &&
                 isLikeInput(*this, inputGrad, input) && isFeatureGradient(*this, weightGrad, input) &&
                 c3.accumulates(weightGrad, input) && isFeatureGradient(*this, biasGrad, input) &&
                 c3.accumulates(biasGrad, input));
}

ShardingRule LayerNormGradOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1), row = rows + "D";
  return ShardingRule::parse(row + "," + row + ",D," + rows + "," + rows + "->" + row + "," +
                             vectorGradientFactors(getWeightGrad(), "D") + "," +
                             vectorGradientFactors(getBiasGrad(), "D"))
      .block("D");
}

// xhat (2), g, mean(g), mean(g xhat) (2), dx (4), dw (2), dbias an element; two divisions a row.
int64_t LayerNormGradOp::getFlops() {
  return 13 * elementsOf(getInput()) + 2 * rowsOf(getInput());
}

int64_t LayerNormGradOp::getWorkspaceBytes() {
  return gradientWorkspaceBytes(*this, 2, getInput(), getWeight());
}

bool LayerNormGradOp::canAccumulate(unsigned i) {
  return i > 0 && cast<RankedTensorType>(getResult(i).getType()).getRank() == 1;
}

// The positions of a sample.
std::optional<ChunkedDim> LayerNormGradOp::getChunkedDim() {
  return ChunkedDim{1, 1};
}

void LayerNormGradOp::sumBySample(OpBuilder &builder) {
  giveGradientsBySample(*this, 1, getInput().getType(), builder);
}
