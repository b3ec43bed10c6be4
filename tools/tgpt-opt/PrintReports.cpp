//===- PrintReports.cpp - what is said of a compiled model ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintReports.h"
#include "CompareVariants.h"
#include "compiler/report/CommunicationReport.h"
#include "compiler/report/CommunicatorBytes.h"
#include "compiler/report/MemoryReport.h"
#include "compiler/report/ScheduleReport.h"
#include "compiler/report/StageReportText.h"
#include "dialects/plan/Plan.h"
#include "passes/pipeline/StageReport.h"
#include "runtime/sim/Simulate.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace tgpt;

void tgpt::printStageReport(ModuleOp module, const CompileRequest &request, llvm::raw_ostream &out) {
  std::optional<StageSummary> summary = readStageReport(module);
  if (request.stageReport == "none" || !summary)
    return;
  std::vector<int64_t> arenas(summary->stages());
  for (auto program : module.getOps<planir::ProgramOp>())
    for (auto stage : program.getBody().getOps<planir::StageOp>())
      if (static_cast<int64_t>(stage.getStage()) < summary->stages())
        arenas[stage.getStage()] = stage.getArenaBytes().value_or(0);
  if (llvm::is_contained(arenas, 0))
    arenas.clear();
  std::string model = module.getName().value_or("the model").str();
  out << (request.stageReport == "text" ? stageReportText(model, *summary, arenas)
                                        : stageReportJson(model, *summary, arenas));
}

void tgpt::printSchedule(ModuleOp module, const CompileRequest &request) {
  if (request.printSchedule == "json") {
    llvm::outs() << scheduleReportJson(module, request.options.schedule);
    return;
  }
  GanttStyle style;
  style.isColoured = llvm::sys::Process::StandardOutHasColors();
  if (llvm::sys::Process::StandardOutIsDisplayed())
    style.width = std::max<int64_t>(llvm::sys::Process::StandardOutColumns(), 40);
  llvm::outs() << scheduleReportText(module, request.options.schedule, style);
}

/// What the cluster's figures tell of the plan: the memory of its communicators, and when what runs.
static void addFigures(const plan::Plan &plan, const CompileRequest &request, MemoryReport &report) {
  OutsideBytes communicators =
      communicatorBytes(plan, request.figures->communicator, llvm::sys::path::filename(request.cluster).str());
  if (communicators.bytes > 0)
    report.budget.outside.push_back(communicators);
  if (request.memoryReport == "text") // which shows no schedule
    return;
  for (const runtime::sim::RankSeconds &stage : runtime::sim::simulate(plan, *request.figures).stages) {
    std::vector<EntryTime> &times = report.entryTimes.emplace_back();
    for (const runtime::sim::EntrySeconds &entry : stage.entries)
      times.push_back({entry.begin * 1e9, entry.end * 1e9});
  }
}

static MemoryReport completeReport(const plan::Plan &plan, ModuleOp original, const CompileRequest &request) {
  MemoryReport report = memoryReportOf(plan);
  report.budget = request.budget;
  if (request.figures)
    addFigures(plan, request, report);
  if (original && request.options.reduction == "canonical")
    addCanonicalPrice(original, request, report);
  if (original && request.memoryWhatIf)
    compareVariants(original, request, report);
  return report;
}

static std::string memoryReportIn(StringRef form, const MemoryReport &report, const CompileRequest &request) {
  if (form == "html")
    return memoryReportHtml(report);
  if (form == "json")
    return memoryReportJson(report);
  return memoryReportText(report, {.by = request.memoryReportBy, .top = request.memoryReportTop});
}

void tgpt::printReports(const plan::Plan &plan, ModuleOp original, const CompileRequest &request) {
  if (request.memoryReport != "none")
    llvm::outs() << memoryReportIn(request.memoryReport, completeReport(plan, original, request), request);
  if (request.communicationReport == "text")
    llvm::outs() << communicationReportText(communicationReportOf(plan));
  if (request.communicationReport == "json")
    llvm::outs() << communicationReportJson(communicationReportOf(plan));
}
