//===- RunSetUp.cpp - what a run needs before its first step ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingRunImpl.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/SyntheticTokens.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/training/PlanSummary.h"
#include "runtime/training/TrainingDevice.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <utility>

using namespace tgpt::runtime;
using namespace tgpt;
namespace fs = std::filesystem;

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
       << "\n--no-peak=" << !options.measurePeak << "\n"
       << options.deviceKernels;
  return text.str();
}

/// A process that is suspended in a step is found by the watchdog, which knows more.
static double silenceSecondsOf(const TrainingOptions &options) {
  return 5 + 1.5 * options.watchdogSeconds;
}

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

void TrainingRun::meetOthers() {
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

void TrainingRun::findStart() {
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

void TrainingRun::openData() {
  if (options.steps == 0)
    return;
  source = openSource(options, loaded.training());
  std::string before = std::exchange(state.data, source->description());
  batches = std::make_unique<Batches>(*source, batchShapeOf(loaded), state.dataSeed, options.ignoreToken);
  if (!before.empty() && before != state.data)
    console.out << "note: the checkpoint was trained on " << before << "\n";
}

void TrainingRun::makeJob() {
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

void TrainingRun::setVariables() {
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

void TrainingRun::prepareSaving() {
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
