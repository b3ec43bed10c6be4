//===- Compile.cpp - compile one model file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "CheckRequest.h"
#include "Fail.h"
#include "PrintReports.h"
#include "ReadCluster.h"
#include "WriteOutput.h"
#include "compiler/driver/Phases.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tgpt;

LogicalResult tgpt::fail(const llvm::Twine &message) {
  llvm::errs() << "tgpt-opt: error: " << message << "\n";
  return failure();
}

static LogicalResult runPipeline(ModuleOp module, StringRef pipeline) {
  PassManager manager = PassManager::on<ModuleOp>(module.getContext());
  if (failed(parsePassPipeline(pipeline, manager)) || failed(applyPassManagerCLOptions(manager)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(manager);
  return manager.run(module);
}

/// Without -o, --print-schedule is all that is asked for, unless there are reports too.
static bool onlyPrintsSchedule(const CompileRequest &request, StringRef output) {
  return request.printSchedule != "none" && output == "-" && !onlyReports(request, output);
}

/// Runs the phases' passes on the module. The schedule is IR of its own up to the last phase.
static LogicalResult runPhases(ModuleOp module, const CompileRequest &request, StringRef output) {
  std::vector<Phase> phases = phasesOf(request.options);
  if (pipelineUpTo(phases, request.lastPhase).empty()) {
    std::string names;
    for (const Phase &phase : phases)
      names += (names.empty() ? "" : ", ") + phase.name;
    return fail("--compile-to is '" + request.lastPhase + "', expected one of " + names);
  }
  if (request.printSchedule == "none")
    return runPipeline(module, pipelineUpTo(phases, request.lastPhase));
  if (request.lastPhase != "pipelined" && request.lastPhase != "plan")
    return fail("--print-schedule needs the IR of phase pipelined, but --compile-to is '" + request.lastPhase + "'");
  if (failed(runPipeline(module, pipelineUpTo(phases, "pipelined"))))
    return failure();
  printSchedule(module, request);
  bool isDone = request.lastPhase == "pipelined" || onlyPrintsSchedule(request, output);
  return isDone ? success() : runPipeline(module, phases.back().pipeline);
}

/// The model's text; null, after an error, where there is none.
static std::unique_ptr<llvm::MemoryBuffer> readInput(StringRef input) {
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reading the model from the terminal, end it with ctrl-d)\n";
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  if (!buffer)
    return (void)fail(error), nullptr;
  if (buffer->getBuffer().starts_with("TGPTPLAN"))
    return (void)fail("'" + input + "' is a compiled plan already, expected a model; tgpt-run trains it"), nullptr;
  if (input.ends_with(".yaml") || input.ends_with(".yml"))
    return (void)fail("'" + input + "' is a recipe, expected a model; tgpt-import " + input +
                      " -o model.mlir makes one"),
           nullptr;
  return buffer;
}

/// Runs the phases, writes what comes of them and prints the reports.
static LogicalResult compileModule(ModuleOp module, const CompileRequest &request, StringRef output) {
  OwningOpRef<ModuleOp> original;
  if ((request.memoryWhatIf || request.options.reduction == "canonical") && request.memoryReport != "none")
    original = module.clone();
  if (failed(runPhases(module, request, output)))
    return failure();
  bool isPlan = output.ends_with(".bin") || onlyReports(request, output);
  bool isWritten = !onlyPrintsSchedule(request, output);
  if (isWritten && failed(isPlan ? writePlan(module, original ? *original : ModuleOp(), request, output)
                                 : writeModule(module, output)))
    return failure();
  printStageReport(module, request, isPlan ? llvm::outs() : llvm::errs()); // IR may go to stdout
  llvm::outs().flush();
  if (std::error_code full = llvm::outs().error()) {
    llvm::outs().clear_error(); // or LLVM ends the program its own way
    return fail("cannot write to stdout: " + full.message());
  }
  return success();
}

LogicalResult tgpt::compileFile(DialectRegistry &registry, StringRef input, StringRef output,
                                const CompileRequest &given) {
  if (failed(checkRequest(given, output)))
    return failure();
  FailureOr<CompileRequest> request = withCluster(given);
  if (failed(request))
    return failure();
  std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(input);
  if (!buffer)
    return failure();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // the message names the place; whole modules would drown it
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  return module ? compileModule(*module, *request, output) : failure();
}
