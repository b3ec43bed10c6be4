//===- Backward.h - what the backwards of ops share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_DIALECTS_TGPT_BACKWARD_H
#define TGPT_DIALECTS_TGPT_BACKWARD_H

#include "dialects/interfaces/OpKnowledge.h"

namespace tgpt {

/// `value` rounded to `elementType`: itself where it has that type already.
mlir::Value castElements(mlir::OpBuilder &builder, mlir::Value value, mlir::Type elementType);

/// The type of a weight gradient: the shape of `weight` in the accumulation type.
mlir::RankedTensorType weightGradientType(mlir::Value weight);

/// Hands `gradient` to `operand` where it is wanted, rounded to the element type
/// that a gradient of `operand` must have.
void addGradient(mlir::OpBuilder &builder, Gradients &gradients, mlir::Value operand, mlir::Value gradient);

/// Fails where a gradient arrived at a result that only serves the backward.
llvm::LogicalResult expectNoGradient(mlir::Operation *op, Gradients &gradients, mlir::Value result,
                                     llvm::StringRef name);

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_BACKWARD_H
