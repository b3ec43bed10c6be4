//===- Compile.cpp - compile one model file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "CompareVariants.h"
#include "compiler/driver/ClusterOptions.h"
#include "compiler/driver/Phases.h"
#include "compiler/emit/PlanEmitter.h"
#include "compiler/report/CommunicationReport.h"
#include "compiler/report/CommunicatorBytes.h"
#include "compiler/report/MemoryReport.h"
#include "compiler/report/ScheduleReport.h"
#include "compiler/report/StageReportText.h"
#include "cost/cluster/ClusterFile.h"
#include "dialects/plan/Plan.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/pipeline/StageReport.h"
#include "passes/pipeline/schedule/Schedule.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/sim/Simulate.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdio>

using namespace mlir;
using namespace tgpt;

static LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "tgpt-opt: error: " << message << "\n";
  return failure();
}

/// The samples of a step fit the micro-batches and leave none of them empty.
static LogicalResult checkGlobalBatch(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  if (!request.givesGlobalBatch)
    return success();
  int64_t batch = options.globalBatch, row = options.dp * options.microBatchSamples, held = row * options.microBatches;
  if (batch < 1 || batch > (1 << 30))
    return fail("--global-batch is " + llvm::Twine(batch) + ", expected 1 to 1073741824");
  int64_t needed = (batch - 1) / row + 1;
  if (needed == options.microBatches)
    return success();
  std::string grid = "--dp=" + std::to_string(options.dp) +
                     " x --micro-batches=" + std::to_string(options.microBatches) +
                     " x --micro-batch-samples=" + std::to_string(options.microBatchSamples);
  std::string wrong = batch > held ? " hold " + std::to_string(held) + " samples"
                                   : " would leave " + std::to_string(options.microBatches - needed) +
                                         " micro-batches without a sample";
  return fail("--global-batch is " + llvm::Twine(batch) + ", but " + grid + wrong +
              "; the nearest legal choices are --micro-batches=" + llvm::Twine(needed) +
              " and --global-batch=" + llvm::Twine(batch > held ? held : held - row + 1));
}

static LogicalResult checkLossScale(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  bool isRead = options.lossScaling.mode != LossScaling::Mode::ByDtype;
  if (!request.lossScale.empty() && !isRead)
    return fail("--loss-scale is '" + request.lossScale + "', expected dynamic, none or a number");
  LossScaling::Mode mode = options.lossScaling.modeFor(options.dtype);
  if (mode == LossScaling::Mode::Fixed &&
      !(options.lossScaling.initial > 0 && std::isfinite(options.lossScaling.initial)))
    return fail("--loss-scale is '" + request.lossScale + "', expected a finite number above 0");
  if (!request.lossScaleTuning.empty() && mode != LossScaling::Mode::Dynamic)
    return fail(request.lossScaleTuning + " is for a dynamic loss scale, but " +
                (request.lossScale.empty() ? "--dtype=" + options.dtype + " has none"
                                           : "--loss-scale is '" + request.lossScale + "'") +
                "; add --loss-scale=dynamic");
  return success();
}

/// The divisor of `count` above one that is nearest to `wanted`.
static int64_t nearestGroup(int64_t count, int64_t wanted) {
  int64_t nearest = count;
  for (int64_t size = 2; size < count; ++size)
    if (count % size == 0 && std::abs(size - wanted) < std::abs(nearest - wanted))
      nearest = size;
  return nearest;
}

static LogicalResult checkZero(const CompileOptions &options) {
  if (options.zero < 0 || options.zero > 3)
    return fail("--zero is " + llvm::Twine(options.zero) + ", expected 0 to 3");
  if (options.bucketMib < 0 || options.bucketMib > (1 << 20))
    return fail("--bucket-mib is " + llvm::Twine(options.bucketMib) + ", expected 0 to 1048576");
  if (options.zeroGroup == 0)
    return success();
  if (options.zero == 0)
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", but without --zero nothing is shared out");
  if (options.dp > 1 && (options.zeroGroup < 2 || options.dp % options.zeroGroup != 0))
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", which does not cut --dp=" +
                llvm::Twine(options.dp) + " into groups of at least 2; the nearest legal value is " +
                llvm::Twine(nearestGroup(options.dp, options.zeroGroup)));
  if (options.zeroGroup > options.dp || options.zeroGroup < 0)
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", but --dp is " + llvm::Twine(options.dp));
  return success();
}

static LogicalResult checkReports(const CompileRequest &request) {
  StringRef memory = request.memoryReport, by = request.memoryReportBy;
  if (memory != "text" && memory != "json" && memory != "html" && memory != "none")
    return fail("--memory-report is '" + memory + "', expected text, json, html or none");
  if (by != "" && by != "category" && by != "layer" && by != "op")
    return fail("--memory-report-by is '" + by + "', expected category, layer or op");
  if (request.memoryReportTop < 0 || request.memoryReportTop > (1 << 20))
    return fail("--memory-report-top is " + llvm::Twine(request.memoryReportTop) + ", expected 0 to 1048576");
  for (auto [name, form] : {std::pair<StringRef, StringRef>{"communication-report", request.communicationReport},
                            {"print-schedule", request.printSchedule},
                            {"stage-report", request.stageReport}})
    if (form != "text" && form != "json" && form != "none")
      return fail("--" + name + " is '" + form + "', expected text, json or none");
  return success();
}

static LogicalResult checkRequest(const CompileRequest &request, StringRef output) {
  const CompileOptions &options = request.options;
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"tp", options.tp},
                             {"pp", options.pp},
                             {"dp", options.dp},
                             {"vocabulary-multiple", options.vocabularyMultiple},
                             {"micro-batches", options.microBatches},
                             {"micro-batch-samples", options.microBatchSamples}})
    if (value < 1 || value > (1 << 20))
      return fail("--" + name + " is " + llvm::Twine(value) + ", expected 1 to 1048576");
  if (options.recompute != "none" && options.recompute != "selective" && options.recompute != "full")
    return fail("--recompute is '" + options.recompute + "', expected none, selective or full");
  if (options.prefetch < 0 || options.prefetch > 1024)
    return fail("--prefetch is " + llvm::Twine(options.prefetch) + ", expected 0 to 1024");
  if (request.givesPrefetch && !options.overlap)
    return fail("--prefetch is " + llvm::Twine(options.prefetch) +
                ", but without --overlap every collective is waited for where it starts");
  if (failed(checkZero(options)))
    return failure();
  static constexpr std::array orders = {"dp,pp,tp", "dp,tp,pp", "pp,dp,tp", "pp,tp,dp", "tp,dp,pp", "tp,pp,dp"};
  if (!llvm::is_contained(orders, options.rankOrder))
    return fail("--rank-order is '" + options.rankOrder + "', expected dp, pp and tp, each once, such as dp,pp,tp");
  if (options.reduction != "fast" && options.reduction != "canonical")
    return fail("--reduction is '" + options.reduction + "', expected fast or canonical");
  if (failed(checkReports(request)))
    return failure();
  if (options.vpp < 1 || options.vpp > 1024)
    return fail("--vpp is " + llvm::Twine(options.vpp) + ", expected 1 to 1024");
  if (!parseScheduleKind(options.schedule))
    return fail("--schedule is '" + options.schedule + "', expected " + scheduleKindChoices());
  if (output.ends_with(".bin") && request.lastPhase != "plan")
    return fail("--compile-to=" + request.lastPhase + " gives IR, but '" + output +
                "' is a compiled plan; use .mlir or .mlirbc");
  static constexpr std::array beforeStages = {"model", "training", "sharded", "partitioned"};
  if (request.stageReport != "none" && llvm::is_contained(beforeStages, request.lastPhase))
    return fail("--stage-report is '" + request.stageReport + "', but --compile-to=" + request.lastPhase +
                " ends before stages are chosen; the nearest legal choice is --compile-to=pipelined");
  return success(succeeded(checkGlobalBatch(request)) && succeeded(checkLossScale(request)));
}

/// The memory of a device, for the report.
static DeviceBudget budgetOf(const cost::DeviceProfile &device, const std::string &file) {
  auto whole = [](double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p60)); };
  return {device.name,
          whole(device.memoryBytes),
          {{"context and library workspaces", whole(device.reservedBytes), llvm::sys::path::filename(file).str()}}};
}

/// The last level of a cluster's links may end at some number of ranks.
static LogicalResult checkRankCount(const CompileOptions &options, const cost::Cluster &cluster) {
  double ranks = double(options.dp) * double(options.pp) * double(options.tp), most = cluster.topology.mostRanks();
  if (most == 0 || ranks <= most)
    return success();
  return fail("--dp=" + llvm::Twine(options.dp) + " x --pp=" + llvm::Twine(options.pp) +
              " x --tp=" + llvm::Twine(options.tp) + " are " + llvm::Twine(int64_t(ranks)) + " ranks, but cluster '" +
              cluster.name + "' has links for " + llvm::Twine(int64_t(most)));
}

/// The device, its links and the limit of memory, from the cluster file and the flags.
static FailureOr<CompileRequest> withCluster(CompileRequest request) {
  constexpr double mostGib = 1 << 30;
  if (request.givesMemoryGib && !(request.memoryGib > 0 && request.memoryGib <= mostGib)) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", request.memoryGib);
    return fail("--memory-gib is " + llvm::Twine(text) + ", expected a number above 0, of at most 1073741824");
  }
  CompileOptions &options = request.options;
  if (!request.cluster.empty())
    try {
      cost::Cluster cluster = cost::readClusterFile(request.cluster);
      if (failed(checkRankCount(options, cluster)))
        return failure();
      if (memoryForPlan(options, cluster) < 1)
        return fail("'" + request.cluster + "' leaves nothing of the memory of a " + cluster.device.name + " (" +
                    llvm::Twine(int64_t(std::min(cluster.device.memoryBytes, 0x1p60))) +
                    " bytes) beside its context and communicators");
      applyCluster(options, cluster);
      request.budget = budgetOf(cluster.device, request.cluster);
      request.figures = std::move(cluster);
    } catch (const cost::ClusterError &error) {
      return fail(error.what());
    }
  if (request.givesMemoryGib)
    options.memoryLimitBytes = std::max<int64_t>(std::llround(request.memoryGib * 0x1p30), 1);
  return request;
}

/// Prints what the stages cost, with their arenas where the module has a plan.
static void printStageReport(ModuleOp module, const CompileRequest &request, llvm::raw_ostream &out) {
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

static LogicalResult runPipeline(ModuleOp module, StringRef pipeline) {
  PassManager manager = PassManager::on<ModuleOp>(module.getContext());
  if (failed(parsePassPipeline(pipeline, manager)) || failed(applyPassManagerCLOptions(manager)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(manager);
  return manager.run(module);
}

/// Without -o, --print-schedule is all that is asked for.
static bool onlyPrintsSchedule(const CompileRequest &request, StringRef output) {
  return request.printSchedule != "none" && output == "-";
}

static LogicalResult printSchedule(ModuleOp module, const CompileRequest &request) {
  if (request.printSchedule == "json") {
    llvm::outs() << scheduleReportJson(module, request.options.schedule);
    return success();
  }
  GanttStyle style;
  style.isColoured = llvm::sys::Process::StandardOutHasColors();
  if (llvm::sys::Process::StandardOutIsDisplayed())
    style.width = std::max<int64_t>(llvm::sys::Process::StandardOutColumns(), 40);
  llvm::outs() << scheduleReportText(module, request.options.schedule, style);
  return success();
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
  if (failed(runPipeline(module, pipelineUpTo(phases, "pipelined"))) || failed(printSchedule(module, request)))
    return failure();
  bool isDone = request.lastPhase == "pipelined" || onlyPrintsSchedule(request, output);
  return isDone ? success() : runPipeline(module, phases.back().pipeline);
}

static LogicalResult writeModule(ModuleOp module, StringRef output) {
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

/// `original` is the model as it was read; null unless the report is about other plans too.
static void printReports(const plan::Plan &plan, ModuleOp original, const CompileRequest &request) {
  if (request.memoryReport != "none") {
    MemoryReport report = memoryReportOf(plan);
    report.budget = request.budget;
    if (request.figures)
      addFigures(plan, request, report);
    if (original && request.options.reduction == "canonical")
      addCanonicalPrice(original, request, report);
    if (original && request.memoryWhatIf)
      compareVariants(original, request, report);
    llvm::outs() << (request.memoryReport == "html" ? memoryReportHtml(report)
                     : request.memoryReport == "json"
                         ? memoryReportJson(report)
                         : memoryReportText(report, {.by = request.memoryReportBy, .top = request.memoryReportTop}));
  }
  if (request.communicationReport == "text")
    llvm::outs() << communicationReportText(communicationReportOf(plan));
  if (request.communicationReport == "json")
    llvm::outs() << communicationReportJson(communicationReportOf(plan));
}

/// Writes the plan, once it has passed the checks that a runtime makes.
static LogicalResult writePlan(ModuleOp module, ModuleOp original, const CompileRequest &request, StringRef output) {
  EmitOptions options;
  options.optionsText = request.flags;
  options.seed = request.options.seed;
  FailureOr<plan::Plan> plan = emitPlan(module, options);
  if (failed(plan))
    return failure();
  try {
    runtime::checkPlan(*plan);
    runtime::savePlan(*plan, output.str());
    printReports(*plan, original, request);
  } catch (const runtime::Error &error) {
    return fail(error.details().empty() ? error.what() : error.what() + ("\n" + error.details()));
  }
  return success();
}

LogicalResult tgpt::compileFile(DialectRegistry &registry, StringRef input, StringRef output,
                                const CompileRequest &given) {
  if (failed(checkRequest(given, output)))
    return failure();
  FailureOr<CompileRequest> known = withCluster(given);
  if (failed(known))
    return failure();
  const CompileRequest &request = *known;
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reading the model from the terminal, end it with ctrl-d)\n";
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  if (!buffer)
    return fail(error);
  if (buffer->getBuffer().starts_with("TGPTPLAN"))
    return fail("'" + input + "' is a compiled plan already, expected a model; tgpt-run trains it");

  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // the message names the place; whole modules would drown it
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  OwningOpRef<ModuleOp> original;
  if ((request.memoryWhatIf || request.options.reduction == "canonical") && request.memoryReport != "none")
    original = module->clone();
  if (failed(runPhases(*module, request, output)))
    return failure();
  bool isPlan = output.ends_with(".bin");
  bool isWritten = !onlyPrintsSchedule(request, output);
  if (isWritten && failed(isPlan ? writePlan(*module, original ? *original : ModuleOp(), request, output)
                                 : writeModule(*module, output)))
    return failure();
  printStageReport(*module, request, isPlan ? llvm::outs() : llvm::errs()); // IR may go to stdout
  return success();
}
