//===- ModelReader.h - the shape of a model in MLIR ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_MODELREADER_H
#define TGPT_COMPILER_PLANNER_MODELREADER_H

#include "cost/ModelShape.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <string>

namespace tgpt {

/// A model as the closed forms see it.
struct ModelFacts {
  std::string name;
  cost::ModelShape shape;
  int64_t parameters = 0; ///< trainable elements of the model; the shape may count a few others
};

/// Reads them from a model as tgpt-import writes it, with its block in one tgpt.repeat. Reports what has no such shape.
llvm::FailureOr<ModelFacts> readModelFacts(mlir::ModuleOp module);

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_MODELREADER_H
