//===- CompareVariants.h - a plan beside those of other options ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_TOOLS_TGPT_OPT_COMPAREVARIANTS_H
#define TGPT_TOOLS_TGPT_OPT_COMPAREVARIANTS_H

#include "CompileFlags.h"
#include "mlir/IR/BuiltinOps.h"

namespace tgpt {

// Other plans are compiled from `original`, the model as it was read. With a cluster, a step of each is simulated.

/// What other choices would save and cost.
void compareVariants(mlir::ModuleOp original, const CompileRequest &request, MemoryReport &report);

/// What canonical order costs: bytes and time beyond those of the same plan with additions in any order.
void addCanonicalPrice(mlir::ModuleOp original, const CompileRequest &request, MemoryReport &report);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_COMPAREVARIANTS_H
