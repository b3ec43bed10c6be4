//===- SumOps.h - ops that add equal values up ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SUMOPS_H
#define TGPT_PASSES_PIPELINE_SUMOPS_H

#include "mlir/IR/Operation.h"

namespace tgpt {

/// True when the only result of `op` is the plain sum of its operands: they all
/// have its type, and the op is linear in all of them together. Such a sum may be
/// taken in parts, on several stages.
bool isSum(mlir::Operation *op);

/// The values that a tree of sums below `value` adds, left to right: `value`
/// itself when it is not a sum. Looks through sums without another use; these are
/// appended to `sums`, outermost first.
llvm::SmallVector<mlir::Value> addendsOf(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> &sums);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SUMOPS_H
