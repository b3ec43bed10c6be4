//===- runtime/training/StepFeed.h - what the ranks ask for during a step ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_STEPFEED_H
#define TGPT_RUNTIME_TRAINING_STEPFEED_H

#include "runtime/data/Batches.h"
#include "runtime/engine/Job.h"

namespace tgpt::runtime {

/// Answers "tokens", "labels", "samples" (their numbers in the step), "learning_rate" and "step". Set the public fields
/// between steps.
class StepFeed : public StepInputs {
public:
  explicit StepFeed(const Batches &batches) : batches(batches) {}

  int64_t step = 1; // counts from 1
  int64_t firstDraw = 0;
  double learningRate = 0;

  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override;

private:
  const Batches &batches;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_STEPFEED_H
