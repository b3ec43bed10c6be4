//===- PlanCompiler.cpp - a model, compiled again and again ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/PlanCompiler.h"
#include "compiler/driver/Phases.h"
#include "compiler/emit/PlanEmitter.h"
#include "compiler/frontend/ModelText.h"
#include "dialects/dist/Dist.h"
#include "dialects/plan/Plan.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/AllPasses.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"

using namespace mlir;
using namespace tgpt;

/// "file:line:column: message" of the errors while it lives, notes included.
namespace {
class ErrorText : ScopedDiagnosticHandler {
public:
  explicit ErrorText(MLIRContext *context) : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return success();
      std::string place;
      if (auto file = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
        place = file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
                std::to_string(file.getColumn()) + ": ";
      text += (text.empty() ? "" : "\n") + place + diagnostic.str();
      for (Diagnostic &note : diagnostic.getNotes())
        text += "\n  note: " + note.str();
      return success();
    });
  }

  std::string text;
};
} // namespace

PlanCompiler::PlanCompiler(const std::string &path)
    : context(MLIRContext::Threading::DISABLED), sources(std::make_shared<llvm::SourceMgr>()) {
  [[maybe_unused]] static bool isRegistered = (registerAllPasses(), true);
  context.loadDialect<func::FuncDialect, TgptDialect, dist::DistDialect, planir::PlanDialect>();
  context.printOpOnDiagnostic(false);
  if (StringRef(path).ends_with(".yaml") || StringRef(path).ends_with(".yml")) {
    parse(llvm::MemoryBuffer::getMemBufferCopy(modelText(readModelRecipe(path)), path));
    return;
  }
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &error);
  if (!buffer)
    throw ModelError(error);
  if (buffer->getBuffer().starts_with("TGPTPLAN"))
    throw ModelError("'" + path + "' is a compiled plan already, expected a model; tgpt-run trains it");
  parse(std::move(buffer));
}

void PlanCompiler::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  ErrorText errors(&context);
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  model = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!model)
    throw ModelError(errors.text);
  FailureOr<ModelFacts> facts = readModelFacts(*model);
  if (failed(facts))
    throw ModelError(errors.text);
  modelFacts = *facts;
}

std::optional<plan::Plan> PlanCompiler::compile(const CompileOptions &options, const std::string &flags,
                                                std::string &refusal) {
  ErrorText errors(&context);
  OwningOpRef<ModuleOp> module = model->clone();
  PassManager manager = PassManager::on<ModuleOp>(&context);
  bool isCompiled =
      succeeded(parsePassPipeline(pipelineUpTo(phasesOf(options), "plan"), manager)) && succeeded(manager.run(*module));
  EmitOptions emitOptions;
  emitOptions.optionsText = flags;
  emitOptions.seed = options.seed;
  FailureOr<plan::Plan> plan = isCompiled ? emitPlan(*module, emitOptions) : FailureOr<plan::Plan>(failure());
  refusal = errors.text;
  if (failed(plan))
    return std::nullopt;
  try {
    runtime::checkPlan(*plan);
  } catch (const runtime::Error &error) {
    refusal = error.what();
    return std::nullopt;
  }
  return std::move(*plan);
}
