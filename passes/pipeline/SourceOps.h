//===- SourceOps.h - which op of the source an op is ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// So that a split can be proved against the program it was made from: the ops of the
// micro-batch are numbered before it, and must all be there after it.
//
//   func.func @micro_batch(...) attributes {dist.source_ops = [3, 7]}     7 ops, the backward from 3
//     dist.segment forward stage 0 {
//       %0 = tgpt.gelu %x {dist.source_op = 0 : i64, tgpt.layer = 0 : i64}
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SOURCEOPS_H
#define TGPT_PASSES_PIPELINE_SOURCEOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tgpt {

/// On an op of the micro-batch: its number in the source.
inline constexpr llvm::StringLiteral sourceOpAttributeName = "dist.source_op";
/// On the micro-batch: array of i64, the number of the first op of the backward and the number of ops.
inline constexpr llvm::StringLiteral sourceOpsAttributeName = "dist.source_ops";

/// Numbers the ops before tgpt.begin_backward and after it, but for those that run in every segment
/// that uses them.
void numberSourceOps(mlir::func::FuncOp microBatch, llvm::function_ref<bool(mlir::Operation *)> isRepeated);

/// Proves of a micro-batch in segments that every numbered op is in exactly one of them, a forward's
/// where it was in the forward, and on the virtual stage that dist.stages gives its layer to; reports
/// otherwise.
mlir::LogicalResult verifySourceOps(mlir::ModuleOp module, mlir::func::FuncOp microBatch);

/// Removes numbers and layers.
void eraseSourceOps(mlir::func::FuncOp microBatch);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SOURCEOPS_H
