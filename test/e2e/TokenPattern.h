//===- test/e2e/TokenPattern.h - tokens that need no file -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_TOKENPATTERN_H
#define TGPT_TEST_E2E_TOKENPATTERN_H

#include "runtime/engine/Job.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/plan.pb.h"

namespace tgpt::runtime {

/// Which labels are ignored, so that ranks and micro-batches hold unequal numbers of
/// valid tokens.
enum class IgnoredLabels {
  None,
  Uneven,   ///< every fifth sample a third of its labels, every seventh all of them
  Halves,   ///< the first half of every sample: under sequence parallelism, whole ranks
  AllButOne ///< one label of the whole batch is valid
};

/// Feeds a fixed pattern of tokens: sample g of a step is the same whatever the
/// grid, and dealt out as runtime/data/Batches.h does. What fills the last micro-batches
/// up has tokens too, but no labels.
class TokenPattern : public StepInputs {
public:
  TokenPattern(const plan::Plan &plan, double learningRate, IgnoredLabels ignored = IgnoredLabels::Uneven)
      : shape(plan.training()), learningRate(learningRate), ignored(ignored) {}

  int64_t step = 1;

  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override {
    if (input == "learning_rate")
      return storeElement(destination, learningRate);
    if (input == "step")
      return storeElement(destination, double(step));
    int64_t first = (dpIndex * shape.micro_batches() + microBatch) * shape.micro_batch_samples();
    if (input == "samples") {
      for (int64_t row = 0; row < destination.dim(0); ++row)
        destination.as<int32_t>()[row] = int32_t(first + row);
      return;
    }
    for (int64_t row = 0; row < destination.dim(0); ++row)
      for (int64_t i = 0; i < destination.dim(1); ++i) {
        int64_t position = row * destination.dim(1) + i;
        destination.as<int32_t>()[position] = input == "tokens" ? token(first + row, i) : label(first + row, i);
      }
  }

private:
  int32_t token(int64_t sample, int64_t i) const {
    uint64_t mixed = uint64_t(step * 1000003 + sample * 7919 + i) * 0x9E3779B97F4A7C15u;
    return int32_t((mixed >> 40) % uint64_t(shape.vocabulary()));
  }
  int32_t label(int64_t sample, int64_t i) const { return isIgnored(sample, i) ? -100 : token(sample, i + 1); }
  bool isIgnored(int64_t sample, int64_t i) const {
    if (shape.global_batch() > 0 && sample >= shape.global_batch())
      return true; // fills a micro-batch up
    switch (ignored) {
    case IgnoredLabels::Uneven: return sample % 7 == 6 || (sample % 5 == 4 && i % 3 == 0);
    case IgnoredLabels::Halves: return i < shape.sequence_length() / 2;
    case IgnoredLabels::AllButOne: return sample != 0 || i != shape.sequence_length() / 2;
    default: return false;
    }
  }

  plan::TrainingShape shape;
  double learningRate;
  IgnoredLabels ignored;
};

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_TOKENPATTERN_H
