//===- PlanCompiler.h - a model, compiled again and again ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds a model as it was read, and compiles it with any options as tgpt-opt does.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_PLANCOMPILER_H
#define TGPT_COMPILER_PLANNER_PLANCOMPILER_H

#include "compiler/driver/CompileOptions.h"
#include "compiler/planner/ModelReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace tgpt {

/// What is wrong with a model, as the compiler says it.
struct ModelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class PlanCompiler {
public:
  /// Reads a model (.mlir, .mlirbc) or a recipe (.yaml). Throws ModelError, or RecipeError.
  explicit PlanCompiler(const std::string &path);

  const ModelFacts &facts() const { return modelFacts; }

  /// The plan for these options, checked as a runtime checks it; or nothing, and why. `flags` are for its header.
  std::optional<plan::Plan> compile(const CompileOptions &options, const std::string &flags, std::string &refusal);

private:
  void parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  mlir::MLIRContext context;
  std::shared_ptr<llvm::SourceMgr> sources;
  mlir::OwningOpRef<mlir::ModuleOp> model;
  ModelFacts modelFacts;
};

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_PLANCOMPILER_H
