//===- WriteOutput.cpp - the file that comes of a model ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteOutput.h"
#include "Fail.h"
#include "PrintReports.h"
#include "compiler/emit/PlanEmitter.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace tgpt;

LogicalResult tgpt::writeModule(ModuleOp module, StringRef output) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file)
    return fail(error);
  if (output.ends_with(".mlirbc")) {
    if (failed(writeBytecodeToFile(module, file->os())))
      return fail("cannot write bytecode to '" + output + "'");
  } else {
    module.print(file->os());
    file->os() << "\n";
  }
  file->os().flush();
  if (std::error_code full = file->os().error()) {
    file->os().clear_error();
    return fail("cannot write '" + output + "': " + full.message());
  }
  file->keep();
  return success();
}

LogicalResult tgpt::writePlan(ModuleOp module, ModuleOp original, const CompileRequest &request, StringRef output) {
  EmitOptions options;
  options.optionsText = request.flags;
  options.seed = request.options.seed;
  FailureOr<plan::Plan> plan = emitPlan(module, options);
  if (failed(plan))
    return failure();
  try {
    runtime::checkPlan(*plan);
    if (output != "-")
      runtime::savePlan(*plan, output.str());
    printReports(*plan, original, request);
  } catch (const runtime::Error &error) {
    return fail(error.details().empty() ? error.what() : error.what() + ("\n" + error.details()));
  }
  return success();
}
