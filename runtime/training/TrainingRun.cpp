//===- runtime/training/TrainingRun.cpp - a whole run, from options to reports --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingRunImpl.h"

#include "runtime/engine/JobFailure.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/training/GemmPeak.h"
#include "runtime/training/MetricsFile.h"
#include "runtime/training/PlanSummary.h"
#include "runtime/training/ProgressLine.h"
#include "runtime/training/TrainingDevice.h"

#include <algorithm>
#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt;
namespace fs = std::filesystem;

void TrainingRun::execute() {
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

double TrainingRun::measurePeak() {
  if (!options.measurePeak || device) // it is the host's
    return 0;
  double core = 0;
  job->onFirstProcess(
      [&] { core = measureCoreGemmFlopsPerSecond(kernels, dtypeOf(job->plan().training().compute_dtype())); });
  int64_t cores = std::min(job->ranks() * options.threadsPerRank, availableCores());
  if (core > 0)
    console.out << "GEMM peak: " << std::llround(core * 1e-9) << " Gflop/s a core, " << cores << " in use\n"
                << std::flush;
  return core * static_cast<double>(cores);
}

LoopSettings TrainingRun::loopSettings() {
  return {.steps = options.steps,
          .learningRate = options.learningRate,
          .saveDirectory = options.save,
          .saveEvery = options.saveEvery,
          .allowNonfinite = options.allowNonfinite,
          .peakFlopsPerSecond = measurePeak()};
}

void TrainingRun::train() {
  if (options.steps == 0)
    return;
  LoopSettings settings = loopSettings();
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
  measureMemory();
  tokensOfLastStep = loop.lastTokenCount();
  lossScaleOfLastStep = loop.lastLossScale();
}

void TrainingRun::measureMemory() {
  try {
    memory = processes ? memoryOfProcesses(*job, options.data, *processes) : processMemory(*job, options.data);
  } catch (const TeamEnded &) {
    // The job's next exchange says so, with its ranks' places.
  }
}

void tgpt::runtime::runTraining(const TrainingOptions &options, const Console &console,
                                const std::optional<RankIdentity> &identity) {
  TrainingOptions complete = options;
  if (complete.learningRate.decaySteps == 0)
    complete.learningRate.decaySteps = options.steps;
  TrainingRun run(complete, console, identity);
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
