//===- OptimizerOps.cpp - gradient norm, clipping, AdamW and fill ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;

static bool isDecayRate(Operation *op, StringRef name, const APFloat &number) {
  return Constraint(op, "C3").isNumber(
      name, number, [](double value) { return value >= 0 && value < 1; }, "at least 0 and below 1");
}

//===----------------------------------------------------------------------===//
// sum_squares
//===----------------------------------------------------------------------===//

LogicalResult SumSquaresOp::verify() {
  return success(
      Constraint(*this, "C1").sameElementType(NamedTensor("output", getOutput()), NamedTensor("input", getInput())));
}

ShardingRule SumSquaresOp::getShardingRule() {
  return ShardingRule::parse(leadingFactors(getInput().getType().getRank()) + "->");
}

int64_t SumSquaresOp::getFlops() {
  return 2 * elementsOf(getInput());
}

int64_t SumSquaresOp::getWorkspaceBytes() {
  return cost::squareSumWorkspace(elementsOf(getInput()),
                                  getInput().getType().getRank() == 0 ? 0 : localChunksOf(*this));
}

// The dim that the layout shards, by an axis of size 1 as well: so the cut does not
// depend on the number of ranks.
std::optional<ChunkedDim> SumSquaresOp::getChunkedDim() {
  RankedTensorType type = getInput().getType();
  std::optional<unsigned> dim = shardedDimOf(type);
  return dim ? ChunkedDim{0, *dim} : ChunkedDim{0, 0, ChunkedDim::Cut::Whole};
}

NamedAttrList SumSquaresOp::getKernelAttributes() {
  NamedAttrList attributes;
  if (auto chunks = (*this)->getAttrOfType<ChunksAttr>(chunksAttributeName))
    attributes.append("chunk_dim", Builder(getContext()).getI64IntegerAttr(chunks.getDim()));
  return attributes;
}

//===----------------------------------------------------------------------===//
// clip_scale
//===----------------------------------------------------------------------===//

LogicalResult ClipScaleOp::verify() {
  NamedTensor normSquared("norm_squared", getNormSquared());
  Constraint c1(*this, "C1");
  if (getLossScale() && !c1.sameElementType(NamedTensor("loss_scale", getLossScale()), normSquared))
    return failure();
  return success(c1.sameElementType(NamedTensor("token_count", getTokenCount()), normSquared) &&
                 c1.sameElementType(NamedTensor("grad_norm", getGradNorm()), normSquared) &&
                 c1.sameElementType(NamedTensor("scale", getScale()), normSquared) &&
                 Constraint(*this, "C2").isNotNegative("max_norm", getMaxNorm()));
}

ShardingRule ClipScaleOp::getShardingRule() {
  return ShardingRule::parse(getLossScale() ? ",,->," : ",->,");
}

// Root and division; sum, division, minimum, division; the product with the loss scale.
int64_t ClipScaleOp::getFlops() {
  return getLossScale() ? 7 : 6;
}

//===----------------------------------------------------------------------===//
// adjust_loss_scale
//===----------------------------------------------------------------------===//

LogicalResult AdjustLossScaleOp::verify() {
  NamedTensor normSquared("norm_squared", getNormSquared());
  Constraint c1(*this, "C1");
  for (const NamedTensor &tensor :
       {NamedTensor("loss_scale", getLossScale()), NamedTensor("good_steps", getGoodSteps()),
        NamedTensor("skipped_steps", getSkippedSteps()), NamedTensor("step", getStep()),
        NamedTensor("new_loss_scale", getNewLossScale()), NamedTensor("new_good_steps", getNewGoodSteps()),
        NamedTensor("new_skipped_steps", getNewSkippedSteps()), NamedTensor("applied_step", getAppliedStep())})
    if (!c1.sameElementType(tensor, normSquared))
      return failure();
  int64_t interval = getGrowthInterval();
  return success(
      Constraint(*this, "C2")
          .isNumber(
              "backoff", getBackoff(), [](double value) { return value > 0 && value <= 1; }, "above 0 and at most 1") &&
      Constraint(*this, "C3")
          .isNumber(
              "growth", getGrowth(), [](double value) { return value >= 1 && std::isfinite(value); },
              "a finite number of at least 1") &&
      Constraint(*this, "C4").holds(interval >= 1, "growth_interval is " + Twine(interval) + ", expected at least 1"));
}

ShardingRule AdjustLossScaleOp::getShardingRule() {
  return ShardingRule::parse(",,,,->,,,");
}

// Product, two sums, difference.
int64_t AdjustLossScaleOp::getFlops() {
  return 4;
}

std::optional<unsigned> AdjustLossScaleOp::getInPlaceOperand(unsigned i) {
  constexpr std::optional<unsigned> operandOfResult[] = {1, 2, 3, std::nullopt};
  return operandOfResult[i];
}

//===----------------------------------------------------------------------===//
// divide
//===----------------------------------------------------------------------===//

LogicalResult DivideOp::verify() {
  NamedTensor lhs("lhs", getLhs());
  Constraint c1(*this, "C1");
  return success(c1.sameElementType(NamedTensor("rhs", getRhs()), lhs) &&
                 c1.sameElementType(NamedTensor("output", getOutput()), lhs));
}

ShardingRule DivideOp::getShardingRule() {
  return ShardingRule::parse(",->");
}

int64_t DivideOp::getFlops() {
  return 1;
}

//===----------------------------------------------------------------------===//
// adamw
//===----------------------------------------------------------------------===//

LogicalResult AdamWOp::verify() {
  NamedTensor parameter("parameter", getParameter());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c4(*this, "C4");
  for (const NamedTensor &tensor :
       {NamedTensor("gradient", getGradient()), NamedTensor("moment1", getMoment1()),
        NamedTensor("moment2", getMoment2()), NamedTensor("new_parameter", getNewParameter()),
        NamedTensor("new_moment1", getNewMoment1()), NamedTensor("new_moment2", getNewMoment2())})
    if (!c1.sameShape(tensor, parameter) || !c2.sameElementType(tensor, parameter))
      return failure();
  return success(c2.sameElementType(NamedTensor("scale", getScale()), parameter) &&
                 c2.sameElementType(NamedTensor("learning_rate", getLearningRate()), parameter) &&
                 c2.sameElementType(NamedTensor("step", getStep()), parameter) &&
                 isDecayRate(*this, "beta1", getBeta1()) && isDecayRate(*this, "beta2", getBeta2()) &&
                 c4.isNotNegative("epsilon", getEpsilon()) && c4.isNotNegative("weight_decay", getWeightDecay()));
}

ShardingRule AdamWOp::getShardingRule() {
  ShardingRule rule;
  ShardingRule::Dims all = ShardingRule::dims(leadingFactors(getParameter().getType().getRank())), scalar;
  rule.operands = {all, all, all, all, scalar, scalar, scalar};
  rule.results = {all, all, all};
  return rule;
}

// Scaled gradient (1), moments (3 + 4), their corrections (2), root, epsilon and
// quotient (3), decay and sum (2), rate and difference (2).
int64_t AdamWOp::getFlops() {
  return 17 * elementsOf(getParameter());
}

std::optional<unsigned> AdamWOp::getInPlaceOperand(unsigned i) {
  constexpr unsigned operandOfResult[] = {0, 2, 3};
  return operandOfResult[i];
}

//===----------------------------------------------------------------------===//
// fill
//===----------------------------------------------------------------------===//

LogicalResult FillOp::verify() {
  return success(Constraint(*this, "C1").holds(getOutput().getType().hasStaticShape(), "the result has a dynamic dim"));
}

ShardingRule FillOp::getShardingRule() {
  ShardingRule rule;
  rule.results.push_back(ShardingRule::dims(leadingFactors(getOutput().getType().getRank())));
  rule.mayBePartial = getValue().isZero();
  return rule;
}

int64_t FillOp::getFlops() {
  return 0;
}
