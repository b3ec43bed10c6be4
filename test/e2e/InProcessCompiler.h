//===- test/e2e/InProcessCompiler.h - the compiler without its tools -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tgpt-import and tgpt-opt do, in this process: thousands of small models cost
// no process starts, and a test can take the IR between two phases.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_INPROCESSCOMPILER_H
#define TGPT_TEST_E2E_INPROCESSCOMPILER_H

#include "compiler/driver/CompileOptions.h"
#include "compiler/frontend/ModelRecipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/plan/plan.pb.h"

#include <functional>
#include <string>

namespace tgpt {

class InProcessCompiler {
public:
  InProcessCompiler();

  // All of these throw runtime::Error with the diagnostics when the compiler refuses.

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
  mlir::OwningOpRef<mlir::ModuleOp> importModel(const ModelRecipe &recipe);
  /// Runs the phases after `first` (empty: from the start) up to and including `last`.
  void runPhases(mlir::ModuleOp module, const CompileOptions &options, const std::string &first,
                 const std::string &last);
  void runPasses(mlir::ModuleOp module, const std::string &pipeline);
  /// The plan of a module that is through all phases, checked as the tools check it.
  plan::Plan emit(mlir::ModuleOp module, const CompileOptions &options);

  /// From recipe to plan.
  plan::Plan compile(const ModelRecipe &recipe, const CompileOptions &options);

  /// Whether the IR verifies and the passes accept it; on refusal what was said.
  bool accepts(mlir::ModuleOp module, const std::string &pipeline, std::string &diagnostics);

private:
  mlir::LogicalResult collectDiagnostics(const std::function<mlir::LogicalResult()> &action, std::string &text);
  mlir::MLIRContext context;
};

} // namespace tgpt

#endif // TGPT_TEST_E2E_INPROCESSCOMPILER_H
