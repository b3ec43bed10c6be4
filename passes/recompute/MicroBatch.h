//===- MicroBatch.h - forward, backward and what is kept between them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_RECOMPUTE_MICROBATCH_H
#define TGPT_PASSES_RECOMPUTE_MICROBATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace tgpt {

/// The ops of the micro-batch on either side of tgpt.begin_backward.
struct MicroBatch {
  llvm::SmallVector<mlir::Operation *> forward, backward;

  /// The module's; reports what is missing.
  static mlir::FailureOr<MicroBatch> of(mlir::ModuleOp module);
  /// Results of the forward that the backward uses, in order of use.
  llvm::SetVector<mlir::Value> keptValues() const;
  /// Their bytes, of global tensors.
  int64_t keptBytes() const;
};

/// The layer of an op, if it has one.
std::optional<int64_t> layerOf(mlir::Operation *op);
/// True when a second run of the op gives the same and does nothing else.
bool canRunTwice(mlir::Operation *op);
/// True for values that take no memory of the micro-batch: inputs, what is read from
/// parameters, constants.
bool isFree(mlir::Value value);

} // namespace tgpt

#endif // TGPT_PASSES_RECOMPUTE_MICROBATCH_H
