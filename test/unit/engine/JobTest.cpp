//===- JobTest.cpp - the tiny pipeline gives known numbers ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hand-written plan with pipeline, tensor and data parallelism against a few
// lines of arithmetic (TinyModel); all values are exact in f64.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/TinyInputs.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

class TinyJob : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(TinyJob, GivesTheNumbersOfTheModel) {
  auto [dp, tp, microBatches] = GetParam();
  for (const KernelSet &kernels : {referenceKernels(), cpuKernels()}) {
    JobOptions options;
    options.kernels = kernels;
    Job job(tinyPipeline(dp, tp, microBatches), options);
    job.initializeVariables();
    TinyModel model{dp, tp, microBatches};
    TinyInputs inputs;
    for (int step = 0; step < 3; ++step) {
      const StepMetrics &metrics = job.runStep(inputs);
      EXPECT_EQ(metrics.loss, model.step());
      EXPECT_EQ(metrics.value("rank_count"), static_cast<double>(2 * dp * tp));
      EXPECT_TRUE(std::isnan(metrics.gradNorm)) << "the plan does not report one";
      EXPECT_EQ(numbersOf(job.readVariable("w")), std::vector<double>(model.w.begin(), model.w.end()));
      job.verifyCopiesEqual();
    }
    for (int64_t rank = 0; rank < job.ranks(); ++rank)
      EXPECT_EQ(job.highWaterBytes(rank), job.plannedBytes(rank)) << job.describeRank(rank);
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, TinyJob,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(1, 2, 3), std::tuple(2, 1, 2),
                                         std::tuple(2, 2, 3), std::tuple(3, 4, 5), std::tuple(8, 4, 4)));

// The gradients on their way back need no message buffer: their sender waits.
TEST(Job, RendezvousSendsGiveTheSameNumbers) {
  plan::Plan plan = tinyPipeline(2, 2, 3);
  plan.mutable_channels(1)->set_depth(0);
  plan.mutable_channels(1)->clear_receive_buffers();
  Job job(plan, referenceOptions());
  job.initializeVariables();
  TinyModel model{2, 2, 3};
  TinyInputs inputs;
  for (int step = 0; step < 3; ++step) { // exact in any order for so long
    EXPECT_EQ(job.runStep(inputs).loss, model.step());
    EXPECT_EQ(numbersOf(job.readVariable("w")), std::vector<double>(model.w.begin(), model.w.end()));
  }
}

TEST(Job, NothingIsTouchedBeforeTheFirstStep) {
  Job job(tinyPipeline(), referenceOptions());
  EXPECT_EQ(job.highWaterBytes(0), 0);
}

TEST(Job, TwoRunsGiveTheSameBits) {
  auto bits = [] {
    plan::Plan plan = tinyPipeline();
    plan::Initializer &initializer = *plan.mutable_stages(0)->mutable_variables(0)->mutable_initializer();
    initializer.set_kind(plan::Initializer::NORMAL);
    initializer.set_stddev(0.1);
    initializer.set_key("w");
    Job job(plan, referenceOptions());
    job.initializeVariables();
    TinyInputs inputs;
    for (int step = 0; step < 5; ++step)
      job.runStep(inputs);
    return job.readVariable("w").bytes;
  };
  EXPECT_EQ(bits(), bits());
}

TEST(Job, ProfileCountsCallsAndTimes) {
  JobOptions options = referenceOptions();
  options.profile = true;
  plan::Plan plan = tinyPipeline();
  plan.mutable_stages(0)->mutable_segments(1)->mutable_instructions(2)->mutable_cost()->set_flops(2);
  Job job(plan, options);
  job.initializeVariables();
  TinyInputs inputs;
  job.runStep(inputs);
  job.runStep(inputs);
  std::vector<ProfileEntry> profile = job.profile(0);
  auto entryOf = [&](const std::string &opcode) {
    for (const ProfileEntry &entry : profile)
      if (entry.opcode == opcode)
        return entry;
    return ProfileEntry{};
  };
  EXPECT_EQ(entryOf("add").calls, 6);
  EXPECT_EQ(entryOf("add").flops, 12);
  EXPECT_EQ(entryOf("send").calls, 6);
  EXPECT_EQ(entryOf("all_reduce").calls, 4);
  EXPECT_GT(entryOf("all_reduce").seconds, 0);
  for (const ProfileEntry &entry : profile) {
    EXPECT_GT(entry.cpuSeconds, 0) << entry.opcode;
    EXPECT_LE(entry.cpuSeconds, entry.seconds * 1.01 + 1e-6)
        << entry.opcode << ": a thread has no more CPU time than time";
  }
  EXPECT_TRUE(std::is_sorted(profile.begin(), profile.end(),
                             [](const auto &a, const auto &b) { return a.seconds > b.seconds; }));
  job.resetProfile();
  profile = job.profile(0);
  EXPECT_EQ(entryOf("add").calls, 0);
}

TEST(Job, PinnedRanksWithSeveralThreadsGiveTheSameNumbers) {
  JobOptions options;
  options.pinThreads = true;
  options.threadsPerRank = 2;
  Job job(tinyPipeline(), options);
  job.initializeVariables();
  TinyModel model{2, 2, 3};
  TinyInputs inputs;
  EXPECT_EQ(job.runStep(inputs).loss, model.step());
}
