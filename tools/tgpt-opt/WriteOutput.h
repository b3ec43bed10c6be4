//===- WriteOutput.h - the file that comes of a model ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_WRITEOUTPUT_H
#define TGPT_TOOLS_TGPT_OPT_WRITEOUTPUT_H

#include "CompileFlags.h"
#include "mlir/IR/BuiltinOps.h"

namespace tgpt {

/// Bytecode for `*.mlirbc`, else text ("-" is stdout).
llvm::LogicalResult writeModule(mlir::ModuleOp module, llvm::StringRef output);
/// The plan, once it has passed the checks that a runtime makes, and the reports on it; for "-" the reports alone.
/// `original` as for printReports.
llvm::LogicalResult writePlan(mlir::ModuleOp module, mlir::ModuleOp original, const CompileRequest &request,
                              llvm::StringRef output);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_WRITEOUTPUT_H
