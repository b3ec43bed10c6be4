//===- OpCost.h - sizes that the costs of ops are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flop counts follow one convention: an addition, subtraction, multiplication,
// division, comparison, negation, square root, exponential, logarithm or tanh is
// one operation. A shape with a dynamic dim costs 0: its cost is not known.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_OPCOST_H
#define TGPT_DIALECTS_TGPT_OPCOST_H

#include "cost/KernelWorkspace.h"
#include "dialects/interfaces/OpKnowledge.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace tgpt {

/// Number of elements; 0 where a dim is dynamic.
inline int64_t elementsOf(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.hasStaticShape() ? type.getNumElements() : 0;
}

/// Size of the last dim; 0 where it is dynamic.
inline int64_t widthOf(mlir::Value value) {
  int64_t width = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().back();
  return mlir::ShapedType::isDynamic(width) ? 0 : width;
}

/// Number of rows: elements without the last dim.
inline int64_t rowsOf(mlir::Value value) {
  int64_t width = widthOf(value);
  return width == 0 ? 0 : elementsOf(value) / width;
}

/// Bytes of an element of the type that sums of these are made in.
inline int64_t sumElementBytes(mlir::Value value) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  return accumulationType(element).getIntOrFloatBitWidth() / 8;
}

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_OPCOST_H
