//===- Backward.cpp - what the backwards of ops share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

Value tgpt::castElements(OpBuilder &builder, Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == elementType)
    return value;
  return CastOp::create(builder, value.getLoc(), type.clone(elementType), value);
}

RankedTensorType tgpt::weightGradientType(Value weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  return type.clone(accumulationType(type.getElementType()));
}

void tgpt::addGradient(OpBuilder &builder, Gradients &gradients, Value operand, Value gradient) {
  if (gradients.isWanted(operand))
    gradients.add(operand, castElements(builder, gradient, gradients.typeOf(operand).getElementType()));
}

LogicalResult tgpt::expectNoGradient(Operation *op, Gradients &gradients, Value result, StringRef name) {
  if (!gradients.of(result))
    return success();
  return op->emitOpError() << "has no backward through result '" << name << "', which only serves its own backward";
}
