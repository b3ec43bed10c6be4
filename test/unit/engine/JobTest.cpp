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
#include "test/unit/engine/TinyTraining.h"

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
    expectNumbersOfModel(job, {dp, tp, microBatches});
    expectArenasUsedAsPlanned(job);
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, TinyJob,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(1, 2, 3), std::tuple(2, 1, 2),
                                         std::tuple(2, 2, 3), std::tuple(3, 4, 5), std::tuple(8, 4, 4)));

TEST(Job, RendezvousSendsGiveTheSameNumbers) {
  Job job(withRendezvousSends(tinyPipeline(2, 2, 3)), referenceOptions());
  expectNumbersOfModel(job, {2, 2, 3});
}

TEST(Job, AMetricThatIsNotReportedIsNaN) {
  Job job(tinyPipeline(), referenceOptions());
  job.initializeVariables();
  TinyInputs inputs;
  EXPECT_TRUE(std::isnan(job.runStep(inputs).gradNorm));
}

TEST(Job, NothingIsTouchedBeforeTheFirstStep) {
  Job job(tinyPipeline(), referenceOptions());
  EXPECT_EQ(job.highWaterBytes(0), 0);
}

TEST(Job, TwoRunsGiveTheSameBits) {
  EXPECT_EQ(trainedBits(tinyPipeline(), referenceOptions()), trainedBits(tinyPipeline(), referenceOptions()));
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
