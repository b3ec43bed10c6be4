//===- runtime/training/TrainingLoop.cpp - step after step ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingLoop.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/plan/Error.h"
#include "runtime/training/StepFeed.h"

#include <chrono>
#include <cmath>
#include <limits>

using namespace tgpt::runtime;
using Clock = std::chrono::steady_clock;

TrainingLoop::TrainingLoop(Job &job, const Batches &batches, TrainingState state, LoopSettings settings)
    : job(job), batches(batches), state(std::move(state)), settings(std::move(settings)),
      tokenCount(std::numeric_limits<double>::quiet_NaN()) {}

void TrainingLoop::run() {
  while (state.step < settings.steps) {
    StepReport report = runStep();
    if (onStep)
      onStep(report);
    if (settings.saveEvery > 0 && state.step % settings.saveEvery == 0)
      save();
    if (job.anySays(stopRequested && stopRequested()))
      break;
  }
  save();
}

StepReport TrainingLoop::runStep() {
  StepFeed feed(batches);
  feed.step = state.step + 1;
  feed.firstDraw = state.nextDraw;
  feed.learningRate = settings.learningRate.at(feed.step);
  Clock::time_point start = Clock::now();
  const StepMetrics &metrics = job.runStep(feed);
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();

  ++state.step;
  state.nextDraw += batches.getShape().samplesPerStep();
  state.tokensSeen += batches.getShape().tokensPerStep();
  tokenCount = metrics.tokenCount;
  bool scalesLoss = !std::isnan(metrics.value("loss_scale"));
  lossScale = scalesLoss ? metrics.value("loss_scale") : 1;
  if (!settings.allowNonfinite)
    requireFinite(metrics);
  double peak = settings.peakFlopsPerSecond;
  double flopsPerSecond = job.plan().training().model_flops_per_step() / seconds;
  return {.step = state.step,
          .loss = metrics.loss,
          .gradNorm = metrics.gradNorm,
          .learningRate = feed.learningRate,
          .tokensSeen = state.tokensSeen,
          .stepSeconds = seconds,
          .tokensPerSecond = static_cast<double>(batches.getShape().tokensPerStep()) / seconds,
          .flopsShare = peak > 0 ? flopsPerSecond / peak : 0,
          .lossScale = scalesLoss ? lossScale : 0,
          .skippedSteps = scalesLoss ? std::llround(metrics.value("skipped_steps")) : 0};
}

/// A gradient that overflows at this scale, the smallest number of f16, is not too large for its type: it diverges.
static constexpr double leastLossScale = 0x1p-24;

void TrainingLoop::requireFinite(const StepMetrics &metrics) const {
  for (const auto &[name, value] : metrics.byName) {
    bool isSkip = name == "grad_norm" && metrics.value("loss_scale") > leastLossScale;
    if (!std::isfinite(value) && !isSkip)
      throw Error("step " + std::to_string(state.step) + ": " + name + " is " +
                  (std::isnan(value) ? "nan" : "infinite") +
                  "; lower --lr or lengthen --warmup-steps, or go on with --allow-nonfinite");
  }
}

void TrainingLoop::save() {
  if (settings.saveDirectory.empty() || savedStep == state.step)
    return;
  std::filesystem::path saved;
  job.onFirstProcess([&] { saved = saveCheckpoint(job, state, settings.saveDirectory); });
  savedStep = state.step;
  if (onSave)
    onSave(saved);
}
