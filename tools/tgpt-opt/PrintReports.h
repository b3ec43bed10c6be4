//===- PrintReports.h - what is said of a compiled model ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_PRINTREPORTS_H
#define TGPT_TOOLS_TGPT_OPT_PRINTREPORTS_H

#include "CompileFlags.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/Support/raw_ostream.h"

namespace tgpt {

/// With the stages' arenas where the module has a plan.
void printStageReport(mlir::ModuleOp module, const CompileRequest &request, llvm::raw_ostream &out);
void printSchedule(mlir::ModuleOp module, const CompileRequest &request);
/// Memory and communication. `original` is the model as it was read; null unless the report is about other plans too.
void printReports(const plan::Plan &plan, mlir::ModuleOp original, const CompileRequest &request);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_PRINTREPORTS_H
