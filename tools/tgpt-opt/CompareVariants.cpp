//===- CompareVariants.cpp - a plan beside those of other options ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompareVariants.h"
#include "compiler/driver/Phases.h"
#include "compiler/driver/Variants.h"
#include "compiler/emit/PlanEmitter.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/sim/Simulate.h"

using namespace mlir;
using namespace tgpt;

/// The plan of another choice of options, or why there is none. Says nothing itself.
static FailureOr<plan::Plan> compileVariant(ModuleOp original, const CompileOptions &options, std::string &refusal) {
  OwningOpRef<ModuleOp> module = original.clone();
  ScopedDiagnosticHandler quiet(original.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && refusal.empty())
      refusal = diagnostic.str();
    return success();
  });
  PassManager manager = PassManager::on<ModuleOp>(original.getContext());
  if (failed(parsePassPipeline(pipelineUpTo(phasesOf(options), "plan"), manager)) || failed(manager.run(*module)))
    return failure();
  FailureOr<plan::Plan> plan = emitPlan(*module, {});
  try {
    if (succeeded(plan))
      runtime::checkPlan(*plan);
  } catch (const runtime::Error &error) {
    refusal = error.what();
    return failure();
  }
  return plan;
}

/// `plan` as a line of a report; its step is simulated where a cluster is known.
static WhatIf lineOf(const plan::Plan &plan, const CompileRequest &request, const std::string &change) {
  WhatIf line = whatIfOf(memoryReportOf(plan), change);
  if (request.figures)
    line.stepSeconds = runtime::sim::simulate(plan, *request.figures).seconds;
  return line;
}

static WhatIf compiledLine(ModuleOp original, const CompileRequest &request, const Variant &variant) {
  std::string refusal;
  FailureOr<plan::Plan> plan = compileVariant(original, variant.options, refusal);
  if (succeeded(plan))
    return lineOf(*plan, request, variant.change);
  WhatIf line;
  line.change = variant.change;
  line.refusal = refusal.empty() ? "the compiler refuses it" : refusal;
  return line;
}

void tgpt::compareVariants(ModuleOp original, const CompileRequest &request, MemoryReport &report) {
  report.whatIf.push_back(lineOf(*report.plan, request, "as it is"));
  for (const Variant &variant : variantsOf(request.options))
    report.whatIf.push_back(compiledLine(original, request, variant));
}

void tgpt::addCanonicalPrice(ModuleOp original, const CompileRequest &request, MemoryReport &report) {
  Variant fast{"--reduction=fast", request.options};
  fast.options.reduction = "fast";
  CanonicalPrice price{lineOf(*report.plan, request, "--reduction=canonical"), compiledLine(original, request, fast),
                       request.figures ? request.figures->name : ""};
  if (price.fast.refusal.empty())
    report.canonicalPrice = std::move(price);
}
