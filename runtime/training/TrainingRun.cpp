//===- runtime/training/TrainingRun.cpp - a whole run, from options to reports --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingRun.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/WriteVariables.h"
#include "runtime/data/SyntheticTokens.h"
#include "runtime/engine/DeviceBackend.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/launch/ProcessTeam.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/trace/ChromeTrace.h"
#include "runtime/training/ArenaReport.h"
#include "runtime/training/GemmPeak.h"
#include "runtime/training/MetricsFile.h"
#include "runtime/training/PartTimes.h"
#include "runtime/training/PlanSummary.h"
#include "runtime/training/ProcessMemory.h"
#include "runtime/training/ProgressLine.h"
#include "runtime/training/TrainingDevice.h"
#include "runtime/training/TrainingLoop.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <memory>
#include <sstream>
#include <utility>

using namespace tgpt::runtime;
using namespace tgpt;
namespace fs = std::filesystem;

namespace {
/// One run; its methods are called in order.
class Run {
public:
  Run(const TrainingOptions &options, const Console &console, const std::optional<RankIdentity> &identity)
      : options(options), console(console), identity(identity),
        kernels(options.kernels == KernelChoice::Cpu ? cpuKernels() : referenceKernels()) {}

  void execute();
  /// Tells the other processes, and prints the error here or lets another do it. Throws AlreadyReported.
  [[noreturn]] void reportFrom(const Error &error);
  bool hasProcesses() const { return processes != nullptr; }

private:
  bool isFirst() const { return !identity || identity->rank == 0; }
  void meetOthers();
  void findStart();
  void openData();
  void makeJob();
  void setVariables();
  void prepareSaving();
  void train();
  double measurePeak();
  void dump();
  void writeTrace();
  void report();

  const TrainingOptions &options;
  const Console &console;
  const std::optional<RankIdentity> &identity;
  std::unique_ptr<ProcessTeam> processes;      // null: ranks are threads
  KernelSet kernels;                           // of ranks on the host
  std::shared_ptr<const DeviceBackend> device; // null: ranks compute on the host
  plan::Plan loaded;                           // moved into the job
  TrainingState state;
  fs::path checkpoint; // resumed from; empty: a fresh start
  int64_t firstStep = 1;
  ProcessMemory memory; // after the last step
  double tokensOfLastStep = 0, lossScaleOfLastStep = 1;
  std::unique_ptr<TokenSource> source;
  std::unique_ptr<Batches> batches;
  std::unique_ptr<Job> job;
};
} // namespace

static BatchShape batchShapeOf(const plan::Plan &plan) {
  const plan::TrainingShape &shape = plan.training();
  return {.sequenceLength = shape.sequence_length(),
          .microBatchSamples = shape.micro_batch_samples(),
          .microBatches = shape.micro_batches(),
          .dataParallel = RankGrid(plan.mesh()).dataParallelRanks(),
          .globalBatch = shape.global_batch()};
}

static std::unique_ptr<TokenSource> openSource(const TrainingOptions &options, const plan::TrainingShape &shape) {
  if (options.syntheticSeed)
    // Tokens are computed, not stored, so there may be many: a million samples.
    return std::make_unique<SyntheticTokens>(*options.syntheticSeed, shape.vocabulary(),
                                             1'000'000 * shape.sequence_length() + 1);
  auto file = std::make_unique<TokenFile>(options.data, options.rawTokenWidth);
  requireOneSample(*file, shape.sequence_length());
  file->requireVocabulary(shape.vocabulary());
  return file;
}

void Run::execute() {
  loaded = loadPlan(options.plan.string());
  checkPlan(loaded); // the job checks the kernels as well
  if (options.planInfo)
    return isFirst() ? printPlanSummary(loaded, console.out) : void();
  options.validate();
  options.learningRate.validate();
  device = openBackend(options.device);
  if (identity)
    meetOthers();
  findStart();
  openData();
  makeJob();
  setVariables();
  prepareSaving();
  train();
  dump();
  writeTrace();
  report();
}

/// What ranks must agree on, a line each.
static std::string agreedOptions(const TrainingOptions &options) {
  std::ostringstream text;
  auto seed = [](const std::optional<uint64_t> &value) { return value ? std::to_string(*value) : "none"; };
  const LearningRate &rate = options.learningRate;
  text << std::setprecision(17) << "--steps=" << options.steps << "\n--synthetic=" << seed(options.syntheticSeed)
       << "\n--data=" << options.data.string() << "\n--seed=" << seed(options.dataSeed) << "\n--lr=" << rate.peak
       << "\n--min-lr=" << rate.minimum << "\n--warmup-steps=" << rate.warmupSteps
       << "\n--lr-schedule=" << (rate.shape == LearningRate::Shape::Cosine ? "cosine" : "constant")
       << "\n--decay-steps=" << rate.decaySteps << "\n--save=" << options.save.string()
       << "\n--save-every=" << options.saveEvery << "\n--resume=" << options.resume.string()
       << "\n--init-from=" << options.initFrom.string() << "\n--dump-gradients=" << options.dumpGradients.string()
       << "\n--dump-variables=" << options.dumpVariables.string()
       << "\n--ignore-token=" << (options.ignoreToken ? std::to_string(*options.ignoreToken) : "none")
       << "\n--communication-threads=" << options.communicationThreads << "\n--backend=" << backendName(options.device)
       << "\n--cuda-graphs=" << (options.usesGraphs ? "on" : "off")
       << "\n--kernels=" << (options.kernels == KernelChoice::Cpu ? "cpu" : "reference")
       << "\n--allow-nonfinite=" << options.allowNonfinite << "\n--profile=" << options.profile
       << "\n--trace=" << options.trace.string() << "\n--trace-steps=" << options.traceSteps
       << "\n--no-peak=" << !options.measurePeak << "\n";
  return text.str();
}

/// A process that is suspended in a step is found by the watchdog, which knows more.
static double silenceSecondsOf(const TrainingOptions &options) {
  return 5 + 1.5 * options.watchdogSeconds;
}

void Run::meetOthers() {
  Member own;
  char hash[32];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(fnv1a64(encodePlan(loaded))));
  own.plan = hash;
  own.options = agreedOptions(options);
  if (const char *machine = std::getenv("TGPT_MACHINE")) // for tests: several on one
    own.machine = machine;
  processes = std::make_unique<ProcessTeam>(
      *identity, own, MeetingOptions{.seconds = options.rendezvousSeconds, .stopRequested = console.stopRequested},
      silenceSecondsOf(options));
  processes->shareReports();
  int64_t ranks = RankGrid(loaded.mesh()).ranks();
  if (identity->ranks != ranks)
    throw Error(identity->sizeSource + " is " + std::to_string(identity->ranks) + ", but the plan is for " +
                std::to_string(ranks) + " ranks (" + describePlan(loaded) + "): start " + std::to_string(ranks) +
                " processes, or one with --launch=threads");
}

void Run::findStart() {
  if (!options.save.empty() && isFirst())
    removeLeftovers(options.save);
  if (processes)
    processes->gather(""); // what was about to be replaced has its name again
  if (!options.resume.empty()) {
    checkpoint = findCheckpoint(options.resume);
    state = readCheckpointState(checkpoint);
    if (state.step >= options.steps)
      throw Error("'" + checkpoint.string() + "' is at step " + std::to_string(state.step) +
                  " already; --steps counts from the start of training: give " + std::to_string(state.step + 1) +
                  " or more, not " + std::to_string(options.steps));
  }
  state.dataSeed = options.dataSeed.value_or(state.dataSeed);
  state.model = loaded.model_name();
  state.options = loaded.options();
  firstStep = state.step + 1;
}

void Run::openData() {
  if (options.steps == 0)
    return;
  source = openSource(options, loaded.training());
  std::string before = std::exchange(state.data, source->description());
  batches = std::make_unique<Batches>(*source, batchShapeOf(loaded), state.dataSeed, options.ignoreToken);
  if (!before.empty() && before != state.data)
    console.out << "note: the checkpoint was trained on " << before << "\n";
}

void Run::makeJob() {
  console.out << describePlan(loaded) << "\n";
  if (source)
    console.out << "data: " << source->description() << ", " << batches->sampleCount() << " samples\n";
  console.out << std::flush;
  JobOptions jobOptions;
  jobOptions.threadsPerRank = options.threadsPerRank;
  jobOptions.pinThreads = options.pinThreads;
  jobOptions.communicationThreads = options.communicationThreads;
  jobOptions.watchdogSeconds = options.watchdogSeconds;
  jobOptions.profile = options.profile;
  if (!options.trace.empty()) // as many as there are steps to trace
    jobOptions.tracedSteps = std::clamp<int64_t>(options.steps + 1 - firstStep, 1, options.traceSteps);
  if (!device)
    jobOptions.kernels = kernels;
  jobOptions.device = {device, options.usesGraphs, options.syncsDevice};
  jobOptions.processes = processes.get();
  job = std::make_unique<Job>(std::move(loaded), std::move(jobOptions));
  for (const std::string &line : job->deviceSummary())
    console.out << line << "\n";
  console.out << std::flush;
}

void Run::setVariables() {
  job->initializeVariables();
  if (!options.initFrom.empty()) {
    ReadCounts counts = readWeights(*job, SafetensorsReader(options.initFrom));
    console.out << "weights from " << options.initFrom.string() << ": " << counts.variables << " variables, "
                << counts.converted << " converted\n";
  }
  if (!checkpoint.empty()) {
    ReadCounts counts = loadCheckpoint(*job, checkpoint);
    console.out << "resumed " << checkpoint.string() << ": step " << state.step << ", " << state.tokensSeen
                << " tokens seen, " << counts.variables << " variables, " << counts.converted << " converted\n";
  }
}

void Run::prepareSaving() {
  if (options.save.empty() || !isFirst())
    return;
  std::error_code error, ignored;
  fs::create_directories(options.save, error);
  if (error || !fs::is_directory(options.save, ignored))
    throw Error("cannot save to '" + options.save.string() +
                "': " + (error ? error.message() : "it is not a directory"));
  bool continues = !checkpoint.empty() && fs::equivalent(checkpoint / "..", options.save, ignored);
  if (!continues && holdsCheckpoints(options.save))
    throw Error("'" + options.save.string() + "' holds the checkpoints of another run: continue it with --resume=" +
                options.save.string() + ", or save to another directory");
}

static DType computeType(const plan::Plan &plan) {
  switch (plan.training().compute_dtype()) {
  case plan::F64: return DType::F64;
  case plan::BF16: return DType::BF16;
  case plan::F16: return DType::F16;
  default: return DType::F32;
  }
}

double Run::measurePeak() {
  if (!options.measurePeak || device) // it is the host's
    return 0;
  double core = 0;
  job->onFirstProcess([&] { core = measureCoreGemmFlopsPerSecond(kernels, computeType(job->plan())); });
  int64_t cores = std::min(job->ranks() * options.threadsPerRank, availableCores());
  if (core > 0)
    console.out << "GEMM peak: " << std::llround(core * 1e-9) << " Gflop/s a core, " << cores << " in use\n"
                << std::flush;
  return core * static_cast<double>(cores);
}

void Run::train() {
  if (options.steps == 0)
    return;
  LoopSettings settings{.steps = options.steps,
                        .learningRate = options.learningRate,
                        .saveDirectory = options.save,
                        .saveEvery = options.saveEvery,
                        .allowNonfinite = options.allowNonfinite,
                        .peakFlopsPerSecond = measurePeak()};
  std::optional<MetricsFile> metrics;
  if (!options.metrics.empty() && isFirst())
    metrics.emplace(options.metrics, firstStep);
  ProgressLine progress(console.out, console.terminal, console.colour, options.logEvery, options.steps);
  forgetPeakMemory(); // of what came before: the GEMM peak's matrices, a checkpoint that was read
  TrainingLoop loop(*job, *batches, state, settings);
  loop.stopRequested = console.stopRequested;
  loop.onSave = [&](const fs::path &saved) { progress.note("saved " + saved.string()); };
  loop.onStep = [&](const StepReport &report) {
    if (metrics)
      metrics->write(report);
    progress.show(report);
  };
  try {
    loop.run();
  } catch (const JobFailure &failure) {
    if (metrics)
      metrics->write(failure, loop.getState().step + 1);
    throw;
  }
  state = loop.getState();
  if (state.step < options.steps)
    progress.note("interrupted after step " + std::to_string(state.step) + " of " + std::to_string(options.steps) +
                  (options.save.empty() ? "; nothing is saved without --save=DIR" : ""));
  try {
    memory = processes ? memoryOfProcesses(*job, options.data, *processes) : processMemory(*job, options.data);
  } catch (const TeamEnded &) {
    // The job's next exchange says so, with its ranks' places.
  }
  tokensOfLastStep = loop.lastTokenCount();
  lossScaleOfLastStep = loop.lastLossScale();
}

void Run::dump() {
  std::map<std::string, std::string> metadata = {{"model", state.model}, {"step", std::to_string(state.step)}};
  if (!options.dumpGradients.empty() && !(tokensOfLastStep > 0))
    throw Error("cannot write gradients of the mean loss: the plan counted no valid tokens in the last step");
  job->onFirstProcess([&] {
    if (!options.dumpGradients.empty())
      writeVariables(*job, gradientsOf(*job), options.dumpGradients, metadata, tokensOfLastStep * lossScaleOfLastStep);
    if (!options.dumpVariables.empty())
      writeVariables(*job, allVariablesOf(*job), options.dumpVariables, metadata);
  });
}

void Run::writeTrace() {
  if (options.trace.empty())
    return;
  job->exchangeReports();
  if (!isFirst())
    return;
  std::vector<InstructionEvent> events;
  for (int64_t rank = 0; rank < job->ranks(); ++rank)
    for (InstructionEvent &event : job->events(rank)) {
      event.step += firstStep - 1;
      events.push_back(event);
    }
  writeChromeTrace(options.trace, job->plan(), events, "measured");
  console.out << "trace: " << events.size() << " events in " << options.trace.string() << "\n";
}

void Run::report() {
  if (options.steps == 0)
    return;
  job->exchangeReports();
  if (options.profile)
    printPartTimes(*job, state.step + 1 - firstStep, console.out);
  int64_t differing = printArenaReport(*job, console.out);
  if (memory.ranks > 0 && !device) // most of a device's is not the host's
    printProcessMemory(memory, console.out);
  console.out << std::flush;
  if (differing > 0)
    throw Error("the arenas of " + std::to_string(differing) + " of " + std::to_string(job->ranks()) +
                " ranks did not use the bytes that the plan predicts");
}

void Run::reportFrom(const Error &error) {
  const auto *failure = dynamic_cast<const JobFailure *>(&error);
  std::string own = error.what();
  if (!failure)
    processes->fail(own);
  std::optional<TeamEnd> end = processes->ended();
  bool isFirstGone = end && end->kind != TeamEnd::Kind::Failed && end->rank == 0;
  // A process that alone knows where ranks were, or that nobody else speaks for, does not wait for rank 0.
  bool isPreferred = isFirst() || isFirstGone || (failure && job && job->foundStuck());
  bool isWithFirst = processes->neighbours().front() == 0; // else rank 0 prints, on its machine, what it was told
  if ((isWithFirst || isFirstGone) && processes->mayReport(isPreferred)) {
    bool isOwn = !failure && !isFirst() && !dynamic_cast<const TeamEnded *>(&error);
    console.report(isOwn ? Error("rank " + std::to_string(identity->rank) + ": " + own, error.details()) : error);
    processes->reported();
  } else {
    console.leaveUnsaid(error);
    processes->awaitReport();
  }
  if (failure && failure->hasLostThreads())
    std::_Exit(1); // a thread still uses what would now be taken down
  throw AlreadyReported();
}

void tgpt::runtime::runTraining(const TrainingOptions &options, const Console &console,
                                const std::optional<RankIdentity> &identity) {
  TrainingOptions complete = options;
  if (complete.learningRate.decaySteps == 0)
    complete.learningRate.decaySteps = options.steps;
  Run run(complete, console, identity);
  try {
    run.execute();
  } catch (const Refused &refused) {
    if (refused.isToBlame)
      throw;
    console.leaveUnsaid(refused);
    throw AlreadyReported();
  } catch (const Interrupted &) {
    if (identity->isSpawned)
      throw AlreadyReported(); // whoever interrupted it knows why
    throw;
  } catch (const Error &error) {
    if (run.hasProcesses())
      run.reportFrom(error);
    throw;
  }
}
