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
#include <numeric>

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

cost::KernelKind LinearOp::getKernelKind() {
  return cost::KernelKind::MatrixProduct;
}

int64_t LinearOp::getModelFlops() {
  return 2 * rowsOf(getInput()) * elementsOf(getWeight());
}

int64_t LinearOp::getFlops() {
  return getModelFlops() + (getBias() ? elementsOf(getOutput()) : 0);
}

// The input features.
std::optional<ChunkedDim> LinearOp::getChunkedDim() {
  return ChunkedDim{0, unsigned(getInput().getType().getRank() - 1)};
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

cost::KernelKind LinearDgradOp::getKernelKind() {
  return cost::KernelKind::MatrixProduct;
}

int64_t LinearDgradOp::getFlops() {
  return 2 * rowsOf(getOutputGrad()) * elementsOf(getWeight());
}

int64_t LinearDgradOp::getModelFlops() {
  return getFlops();
}

// The output features.
std::optional<ChunkedDim> LinearDgradOp::getChunkedDim() {
  return ChunkedDim{0, unsigned(getOutputGrad().getType().getRank() - 1)};
}

//===----------------------------------------------------------------------===//
// linear_dgrad_sum
//===----------------------------------------------------------------------===//

static constexpr size_t mostProducts = 8; // of one sum: a kernel's limit

// Appends the products of a linear_dgrad or of a sum of them; false for any other op.
static bool appendProducts(Operation *op, SmallVectorImpl<Value> &gradients, SmallVectorImpl<Value> &weights) {
  if (auto one = dyn_cast<LinearDgradOp>(op)) {
    gradients.push_back(one.getOutputGrad());
    weights.push_back(one.getWeight());
    return true;
  }
  auto sum = dyn_cast<LinearDgradSumOp>(op);
  if (!sum)
    return false;
  llvm::append_range(gradients, sum.getOutputGrads());
  llvm::append_range(weights, sum.getWeights());
  return true;
}

static Operation *joinProducts(OpBuilder &builder, Operation *op, Operation *other) {
  SmallVector<Value> gradients, weights;
  if (!appendProducts(op, gradients, weights) || !appendProducts(other, gradients, weights) ||
      gradients.size() > mostProducts)
    return nullptr;
  return LinearDgradSumOp::create(builder, op->getLoc(), op->getResult(0).getType(), gradients, weights);
}

Operation *LinearDgradOp::joinSum(OpBuilder &builder, Operation *other) {
  return joinProducts(builder, *this, other);
}

Operation *LinearDgradSumOp::joinSum(OpBuilder &builder, Operation *other) {
  return joinProducts(builder, *this, other);
}

LogicalResult LinearDgradSumOp::verify() {
  NamedTensor inputGrad("input_grad", getInputGrad());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c3(*this, "C3");
  size_t products = getWeights().size();
  if (!c1.holds(products >= 1 && products <= mostProducts,
                "has " + Twine(products) + " products, expected 1 to " + Twine(mostProducts)) ||
      !c1.hasRankAtLeast(inputGrad, 1))
    return failure();
  int64_t last = inputGrad.rank() - 1;
  for (auto [gradient, factor] : llvm::zip_equal(getOutputGrads(), getWeights())) {
    NamedTensor outputGrad("output_grad", gradient), weight("weight", factor);
    if (!c1.hasRank(outputGrad, inputGrad.rank()) || !c1.hasRank(weight, 2) ||
        !c2.sameDim(outputGrad, last, weight, 0) || !c2.sameDim(inputGrad, last, weight, 1) ||
        !c2.sameLeadingDims(inputGrad, outputGrad, last) || !c3.sameElementType(weight, outputGrad) ||
        !c3.sameElementType(inputGrad, outputGrad))
      return failure();
  }
  return success();
}

ShardingRule LinearDgradSumOp::getShardingRule() {
  ShardingRule rule;
  std::string rows = leadingFactors(getInputGrad().getType().getRank() - 1);
  rule.operands.assign(getOutputGrads().size(), ShardingRule::dims(rows + "N"));
  rule.operands.append(getWeights().size(), ShardingRule::dims("NK"));
  rule.results.push_back(ShardingRule::dims(rows + "K"));
  return rule;
}

cost::KernelKind LinearDgradSumOp::getKernelKind() {
  return cost::KernelKind::MatrixProduct;
}

int64_t LinearDgradSumOp::getFlops() {
  int64_t flops = 0;
  for (auto [gradient, weight] : llvm::zip_equal(getOutputGrads(), getWeights()))
    flops += 2 * rowsOf(gradient) * elementsOf(weight);
  return flops;
}

int64_t LinearDgradSumOp::getModelFlops() {
  return getFlops();
}

// The output features of every linear: as many chunks of each, so the narrowest decides.
std::optional<ChunkedDim> LinearDgradSumOp::getChunkedDim() {
  unsigned last = getInputGrad().getType().getRank() - 1, narrowest = 0;
  auto widthOf = [&](unsigned i) {
    return globalShapeOf(cast<RankedTensorType>(getOutputGrads()[i].getType())).back();
  };
  int64_t common = widthOf(0);
  for (unsigned i = 1; i < getOutputGrads().size(); ++i) {
    common = std::gcd(common, widthOf(i));
    if (widthOf(i) < widthOf(narrowest))
      narrowest = i;
  }
  return ChunkedDim{narrowest, last, ChunkedDim::Cut::IntoChunks, widthOf(narrowest) / common};
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

cost::KernelKind LinearWgradOp::getKernelKind() {
  return cost::KernelKind::MatrixProduct;
}

int64_t LinearWgradOp::getFlops() {
  return 2 * rowsOf(getInput()) * elementsOf(getWeightGrad());
}

int64_t LinearWgradOp::getModelFlops() {
  return getFlops();
}

// The rows of one sample after those of the other.
std::optional<ChunkedDim> LinearWgradOp::getChunkedDim() {
  return ChunkedDim{0, 0, ChunkedDim::Cut::EachElement};
}

bool LinearWgradOp::canAccumulate(unsigned) {
  return true;
}
