//===- TinyTraining.h - the tiny pipeline is trained, wherever its ranks are ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_TINYTRAINING_H
#define TGPT_TEST_UNIT_ENGINE_TINYTRAINING_H

#include "test/unit/engine/TinyInputs.h"

#include <gtest/gtest.h>

namespace tgpt::test {

/// Three steps, in which additions are exact in any order, give the numbers of the model on all ranks.
inline void expectNumbersOfModel(runtime::Job &job, TinyModel model) {
  job.initializeVariables();
  TinyInputs inputs;
  for (int step = 0; step < 3; ++step) {
    const runtime::StepMetrics &metrics = job.runStep(inputs);
    EXPECT_EQ(metrics.loss, model.step());
    EXPECT_EQ(metrics.value("rank_count"), static_cast<double>(2 * model.dp * model.tp));
    EXPECT_EQ(numbersOf(job.readVariable("w")), std::vector<double>(model.w.begin(), model.w.end()));
    job.verifyCopiesEqual();
  }
}

inline void expectArenasUsedAsPlanned(const runtime::Job &job) {
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    EXPECT_EQ(job.highWaterBytes(rank), job.plannedBytes(rank)) << job.describeRank(rank);
}

/// The gradients on their way back need no message buffer, though the plan has them: their sender waits.
inline plan::Plan withRendezvousSends(plan::Plan plan) {
  plan.mutable_channels(1)->set_depth(0);
  plan.mutable_channels(1)->clear_receive_buffers();
  return plan;
}

/// All bits of the weights after some steps from drawn ones.
inline std::vector<std::byte> trainedBits(plan::Plan plan, runtime::JobOptions options) {
  plan::Initializer &initializer = *plan.mutable_stages(0)->mutable_variables(0)->mutable_initializer();
  initializer.set_kind(plan::Initializer::NORMAL);
  initializer.set_stddev(0.1);
  initializer.set_key("w");
  runtime::Job job(std::move(plan), std::move(options));
  job.initializeVariables();
  TinyInputs inputs;
  for (int step = 0; step < 5; ++step)
    job.runStep(inputs);
  return job.readVariable("w").bytes;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_TINYTRAINING_H
