//===- Compile.h - compile one model file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_COMPILE_H
#define TGPT_TOOLS_TGPT_OPT_COMPILE_H

#include "CompileFlags.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/LogicalResult.h"

namespace tgpt {

/// Runs the phases that `request` asks for on the model in `input` and writes the
/// result: a plan for `*.bin`, bytecode for `*.mlirbc`, else text ("-" is stdout).
/// Nothing is written on failure; diagnostics go to stderr.
llvm::LogicalResult compileFile(mlir::DialectRegistry &registry, llvm::StringRef input, llvm::StringRef output,
                                const CompileRequest &request);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_COMPILE_H
