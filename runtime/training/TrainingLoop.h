//===- runtime/training/TrainingLoop.h - step after step --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_TRAININGLOOP_H
#define TGPT_RUNTIME_TRAINING_TRAININGLOOP_H

#include "runtime/checkpoint/TrainingState.h"
#include "runtime/data/Batches.h"
#include "runtime/engine/Job.h"
#include "runtime/training/LearningRate.h"
#include "runtime/training/StepReport.h"

#include <functional>

namespace tgpt::runtime {

struct LoopSettings {
  int64_t steps = 0; // the run ends after this step, counted from the start of training
  LearningRate learningRate;
  std::filesystem::path saveDirectory; // empty: nothing is saved
  int64_t saveEvery = 0;               // 0: only at the end
  bool allowNonfinite = false;
  double peakFlopsPerSecond = 0; // of all cores in use; 0: unknown
};

class TrainingLoop {
public:
  /// `state` is where training stands: all zero, or read from a checkpoint that `job` holds.
  TrainingLoop(Job &job, const Batches &batches, TrainingState state, LoopSettings settings);

  std::function<void(const StepReport &)> onStep;            // may be empty
  std::function<void(const std::filesystem::path &)> onSave; // may be empty
  std::function<bool()> stopRequested; // asked after each step; may be empty; any process may say so

  /// Runs to the last step or until asked to stop, then saves. Throws Error, saving nothing more, when a reported
  /// number is not finite, but for the gradient norm of a step that a loss scaling skipped.
  void run();

  const TrainingState &getState() const { return state; }
  /// Valid tokens of the last step, as the plan counted them; NaN before the first.
  double lastTokenCount() const { return tokenCount; }
  /// What the gradients of the last step were scaled by, 1 where the plan scales no loss.
  double lastLossScale() const { return lossScale; }

private:
  StepReport runStep();
  void requireFinite(const StepMetrics &metrics) const;
  void save();

  Job &job;
  const Batches &batches;
  TrainingState state;
  LoopSettings settings;
  double tokenCount, lossScale = 1;
  int64_t savedStep = -1;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_TRAININGLOOP_H
