//===- LinearOps.cpp - linear and its gradients ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   y = x w^T + bias      x [..., k], w [n, k], bias [n], y [..., n]
//   dx = dy w             dw = dy^T x             dbias = sum of dy over the rows
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

// The result may be of the accumulation type: logits of a bf16 or f16 model in f32.
static bool hasResultType(LinearOp op, const NamedTensor &output, const NamedTensor &input) {
  Constraint c3(op, "C3");
  if (output.type.getElementType() == input.type.getElementType())
    return true;
  return c3.accumulates(output, input);
}

LogicalResult LinearOp::verify() {
  NamedTensor input("input", getInput()), weight("weight", getWeight()), output("output", getOutput());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c3(*this, "C3");
  if (!c1.hasRankAtLeast(input, 1) || !c1.hasRank(weight, 2) || !c1.hasRank(output, input.rank()))
    return failure();
  int64_t last = input.rank() - 1;
  if (!c2.sameDim(input, last, weight, 1) || !c2.sameDim(output, last, weight, 0) ||
      !c2.sameLeadingDims(output, input, last))
    return failure();
  if (Value value = getBias()) {
    NamedTensor bias("bias", value);
    if (!c1.hasRank(bias, 1) || !c2.sameDim(bias, 0, weight, 0) || !c3.sameElementType(bias, input))
      return failure();
  }
  return success(c3.sameElementType(weight, input) && hasResultType(*this, output, input));
}

ShardingRule LinearOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1);
  if (!getBias())
    return ShardingRule::parse(rows + "K,NK->" + rows + "N");
  return ShardingRule::parse(rows + "K,NK,N->" + rows + "N").block("K");
}

int64_t LinearOp::getFlops() {
  int64_t biasAdds = getBias() ? elementsOf(getOutput()) : 0;
  return 2 * rowsOf(getInput()) * elementsOf(getWeight()) + biasAdds;
}

LogicalResult LinearOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  Value outputGrad = castElements(builder, gradients.of(getOutput()), getInput().getType().getElementType());
  if (gradients.isWanted(getInput()))
    addGradient(builder, gradients, getInput(),
                LinearDgradOp::create(builder, getLoc(), getInput().getType(), outputGrad, getWeight()));
  if (gradients.isWanted(getWeight()))
    addGradient(builder, gradients, getWeight(),
                LinearWgradOp::create(builder, getLoc(), weightGradientType(getWeight()), outputGrad, getInput()));
  if (getBias() && gradients.isWanted(getBias()))
    addGradient(builder, gradients, getBias(),
                SumLeadingOp::create(builder, getLoc(), weightGradientType(getBias()), outputGrad));
  return success();
}

SmallVector<Value> LinearOp::getSavedForBackward() {
  return {getInput(), getWeight()};
}

//===----------------------------------------------------------------------===//
// linear_dgrad
//===----------------------------------------------------------------------===//

LogicalResult LinearDgradOp::verify() {
  NamedTensor outputGrad("output_grad", getOutputGrad()), weight("weight", getWeight());
  NamedTensor inputGrad("input_grad", getInputGrad());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c3(*this, "C3");
  if (!c1.hasRankAtLeast(outputGrad, 1) || !c1.hasRank(weight, 2) || !c1.hasRank(inputGrad, outputGrad.rank()))
    return failure();
  int64_t last = outputGrad.rank() - 1;
  return success(c2.sameDim(outputGrad, last, weight, 0) && c2.sameDim(inputGrad, last, weight, 1) &&
                 c2.sameLeadingDims(inputGrad, outputGrad, last) && c3.sameElementType(weight, outputGrad) &&
                 c3.sameElementType(inputGrad, outputGrad));
}

ShardingRule LinearDgradOp::getShardingRule() {
  std::string rows = leadingFactors(getOutputGrad().getType().getRank() - 1);
  return ShardingRule::parse(rows + "N,NK->" + rows + "K").linearIn({0, 1});
}

int64_t LinearDgradOp::getFlops() {
  return 2 * rowsOf(getOutputGrad()) * elementsOf(getWeight());
}

//===----------------------------------------------------------------------===//
// linear_wgrad
//===----------------------------------------------------------------------===//

LogicalResult LinearWgradOp::verify() {
  NamedTensor outputGrad("output_grad", getOutputGrad()), input("input", getInput());
  NamedTensor weightGrad("weight_grad", getWeightGrad());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c3(*this, "C3");
  if (!c1.hasRankAtLeast(outputGrad, 1) || !c1.hasRank(input, outputGrad.rank()) || !c1.hasRank(weightGrad, 2))
    return failure();
  int64_t last = outputGrad.rank() - 1;
  return success(c2.sameDim(weightGrad, 0, outputGrad, last) && c2.sameDim(weightGrad, 1, input, last) &&
                 c2.sameLeadingDims(input, outputGrad, last) && c3.sameElementType(input, outputGrad) &&
                 c3.accumulates(weightGrad, outputGrad));
}

ShardingRule LinearWgradOp::getShardingRule() {
  std::string rows = leadingFactors(getInput().getType().getRank() - 1);
  return ShardingRule::parse(rows + "N," + rows + "K->NK").linearIn({0, 1});
}

int64_t LinearWgradOp::getFlops() {
  return 2 * rowsOf(getInput()) * elementsOf(getWeightGrad());
}

bool LinearWgradOp::canAccumulate(unsigned) {
  return true;
}
