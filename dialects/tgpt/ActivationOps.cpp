//===- ActivationOps.cpp - gelu, swiglu, their gradients, and cast ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise ops: every dim is a factor of its own, and all may be sharded.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

static bool isLike(Operation *op, const NamedTensor &a, const NamedTensor &b) {
  return Constraint(op, "C1").sameShape(a, b) && Constraint(op, "C2").sameElementType(a, b);
}

static ShardingRule elementwiseRule(RankedTensorType type, int64_t operands, int64_t results) {
  ShardingRule rule;
  rule.operands.assign(operands, ShardingRule::dims(leadingFactors(type.getRank())));
  rule.results.assign(results, ShardingRule::dims(leadingFactors(type.getRank())));
  return rule;
}

//===----------------------------------------------------------------------===//
// gelu
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::verify() {
  return success(isLike(*this, NamedTensor("output", getOutput()), NamedTensor("input", getInput())));
}

ShardingRule GeluOp::getShardingRule() {
  return elementwiseRule(getInput().getType(), 1, 1);
}

// Argument of tanh (5), tanh, and 0.5 x (1 + t) (3).
int64_t GeluOp::getFlops() {
  return 9 * elementsOf(getInput());
}

LogicalResult GeluOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (gradients.isWanted(getInput()))
    addGradient(builder, gradients, getInput(),
                GeluGradOp::create(builder, getLoc(), getInput().getType(), gradients.of(getOutput()), getInput()));
  return success();
}

SmallVector<Value> GeluOp::getSavedForBackward() {
  return {getInput()};
}

LogicalResult GeluGradOp::verify() {
  NamedTensor input("input", getInput());
  return success(isLike(*this, NamedTensor("output_grad", getOutputGrad()), input) &&
                 isLike(*this, NamedTensor("input_grad", getInputGrad()), input));
}

ShardingRule GeluGradOp::getShardingRule() {
  return elementwiseRule(getInput().getType(), 2, 1);
}

// tanh as in gelu (6), 0.5 (1 + t) (2), 1 - t^2 (2), the argument's derivative (3),
// their product with 0.5 x (3), the sum and the product with dy (2).
int64_t GeluGradOp::getFlops() {
  return 18 * elementsOf(getInput());
}

std::optional<unsigned> GeluGradOp::getInPlaceOperand(unsigned) {
  return 0;
}

//===----------------------------------------------------------------------===//
// swiglu
//===----------------------------------------------------------------------===//

LogicalResult SwigluOp::verify() {
  NamedTensor gate("gate", getGate());
  return success(isLike(*this, NamedTensor("up", getUp()), gate) &&
                 isLike(*this, NamedTensor("output", getOutput()), gate));
}

ShardingRule SwigluOp::getShardingRule() {
  return elementwiseRule(getGate().getType(), 2, 1);
}

// The sigmoid (4) and two products.
int64_t SwigluOp::getFlops() {
  return 6 * elementsOf(getGate());
}

LogicalResult SwigluOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (!gradients.isWanted(getGate()) && !gradients.isWanted(getUp()))
    return success();
  auto grad = SwigluGradOp::create(builder, getLoc(), getGate().getType(), getUp().getType(), gradients.of(getOutput()),
                                   getGate(), getUp());
  addGradient(builder, gradients, getGate(), grad.getGateGrad());
  addGradient(builder, gradients, getUp(), grad.getUpGrad());
  return success();
}

SmallVector<Value> SwigluOp::getSavedForBackward() {
  return {getGate(), getUp()};
}

LogicalResult SwigluGradOp::verify() {
  NamedTensor gate("gate", getGate());
  return success(isLike(*this, NamedTensor("output_grad", getOutputGrad()), gate) &&
                 isLike(*this, NamedTensor("up", getUp()), gate) &&
                 isLike(*this, NamedTensor("gate_grad", getGateGrad()), gate) &&
                 isLike(*this, NamedTensor("up_grad", getUpGrad()), gate));
}

std::optional<unsigned> SwigluGradOp::getInPlaceOperand(unsigned i) {
  return i + 1; // dgate over gate, dup over up
}

ShardingRule SwigluGradOp::getShardingRule() {
  return elementwiseRule(getGate().getType(), 3, 2);
}

// The sigmoid (4), silu, dup (2), the derivative of silu (4) and two products with it.
int64_t SwigluGradOp::getFlops() {
  return 12 * elementsOf(getGate());
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  return success(
      Constraint(*this, "C1").sameShape(NamedTensor("output", getOutput()), NamedTensor("input", getInput())));
}

ShardingRule CastOp::getShardingRule() {
  return elementwiseRule(getInput().getType(), 1, 1);
}

int64_t CastOp::getFlops() {
  return 0;
}

LogicalResult CastOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  addGradient(builder, gradients, getInput(), gradients.of(getOutput()));
  return success();
}

SmallVector<Value> CastOp::getSavedForBackward() {
  return {};
}
