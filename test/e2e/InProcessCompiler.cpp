//===- test/e2e/InProcessCompiler.cpp - the compiler without its tools -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/InProcessCompiler.h"

#include "compiler/driver/Phases.h"
#include "compiler/emit/PlanEmitter.h"
#include "compiler/frontend/ModelText.h"
#include "dialects/dist/Dist.h"
#include "dialects/plan/Plan.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/AllPasses.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"

using namespace mlir;
using namespace tgpt;
using runtime::Error;

InProcessCompiler::InProcessCompiler() : context(MLIRContext::Threading::DISABLED) {
  [[maybe_unused]] static bool isRegistered = (registerAllPasses(), true);
  context.loadDialect<func::FuncDialect, TgptDialect, dist::DistDialect, planir::PlanDialect>();
  context.printOpOnDiagnostic(false);
}

LogicalResult InProcessCompiler::collectDiagnostics(const std::function<LogicalResult()> &action, std::string &text) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    text += (text.empty() ? "" : "\n") + diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      text += "\n  note: " + note.str();
    return success();
  });
  return action();
}

OwningOpRef<ModuleOp> InProcessCompiler::parse(const std::string &text) {
  std::string diagnostics;
  OwningOpRef<ModuleOp> module;
  auto action = [&] {
    ParserConfig config(&context);
    module = parseSourceString<ModuleOp>(text, config, "model.mlir");
    return success(bool(module));
  };
  if (failed(collectDiagnostics(action, diagnostics)))
    throw Error(diagnostics);
  return module;
}

OwningOpRef<ModuleOp> InProcessCompiler::importModel(const ModelRecipe &recipe) {
  return parse(modelText(recipe));
}

void InProcessCompiler::runPasses(ModuleOp module, const std::string &pipeline) {
  std::string diagnostics;
  if (!accepts(module, pipeline, diagnostics))
    throw Error(diagnostics);
}

bool InProcessCompiler::accepts(ModuleOp module, const std::string &pipeline, std::string &diagnostics) {
  auto action = [&]() -> LogicalResult {
    if (failed(verify(module)))
      return failure();
    PassManager manager(&context, ModuleOp::getOperationName());
    if (failed(parsePassPipeline(pipeline, manager)))
      return failure();
    return manager.run(module);
  };
  return succeeded(collectDiagnostics(action, diagnostics));
}

void InProcessCompiler::runPhases(ModuleOp module, const CompileOptions &options, const std::string &first,
                                  const std::string &last) {
  std::string pipeline;
  bool isRunning = first.empty();
  for (const Phase &phase : phasesOf(options)) {
    if (isRunning)
      pipeline += (pipeline.empty() ? "" : ",") + phase.pipeline;
    isRunning = (isRunning || phase.name == first) && phase.name != last;
  }
  runPasses(module, pipeline);
}

plan::Plan InProcessCompiler::emit(ModuleOp module, const CompileOptions &options) {
  EmitOptions emitOptions;
  emitOptions.seed = options.seed;
  std::string diagnostics;
  FailureOr<plan::Plan> made = failure();
  auto action = [&] { return LogicalResult(made = emitPlan(module, emitOptions)); };
  if (failed(collectDiagnostics(action, diagnostics)))
    throw Error(diagnostics);
  runtime::checkPlan(*made);
  return *std::move(made);
}

plan::Plan InProcessCompiler::compile(const ModelRecipe &recipe, const CompileOptions &options) {
  OwningOpRef<ModuleOp> module = importModel(recipe);
  runPhases(*module, options, "", "plan");
  return emit(*module, options);
}
