//===- StartedTest.cpp - collectives on communication threads ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiny pipeline with its collectives started and waited for as late as can be gives
// the same numbers, with communication threads and without; and whatever fails on one of
// them ends the job with one message that names the place.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/TinyTraining.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

plan::Plan startedPipeline(int64_t dp = 2, int64_t tp = 2, int64_t microBatches = 3) {
  return withStartedCollectives(tinyPipeline(dp, tp, microBatches));
}

/// Keeps one dp index waiting for longer than the job's patience.
class SlowInputs final : public TinyInputs {
public:
  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override {
    if (dpIndex == 0 && microBatch == 1 && destination.data && !slept.exchange(true))
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    TinyInputs::fill(input, dpIndex, microBatch, destination);
  }

private:
  std::atomic<bool> slept{false};
};

} // namespace

class StartedJob : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(StartedJob, GivesTheNumbersOfTheModel) {
  auto [dp, tp, microBatches] = GetParam();
  for (int threads : {0, 1}) {
    JobOptions options = referenceOptions();
    options.communicationThreads = threads;
    Job job(startedPipeline(dp, tp, microBatches), options);
    expectNumbersOfModel(job, {dp, tp, microBatches});
    expectArenasUsedAsPlanned(job);
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, StartedJob,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(1, 2, 3), std::tuple(2, 1, 2),
                                         std::tuple(2, 2, 3), std::tuple(3, 4, 5), std::tuple(8, 4, 4)));

TEST(Started, ProfileTellsFlightsFromWaits) {
  for (int threads : {0, 1}) {
    JobOptions options = referenceOptions();
    options.profile = true;
    options.communicationThreads = threads;
    Job job(startedPipeline(), options);
    job.initializeVariables();
    TinyInputs inputs;
    job.runStep(inputs);
    int64_t inFlight = 0, own = 0, waits = 0;
    for (const ProfileEntry &entry : job.profile(0)) {
      if (entry.opcode == "wait")
        waits += entry.calls;
      else if (entry.opcode == "all_gather" || entry.opcode == "all_reduce")
        (entry.inFlight ? inFlight : own) += entry.calls;
    }
    // Stage 0 starts an all_gather a micro-batch and an all_reduce of the gradient; that of all ranks spans stages.
    EXPECT_EQ(waits, 4);
    EXPECT_EQ(inFlight, threads == 1 ? 4 : 0);
    EXPECT_EQ(own, threads == 1 ? 1 : 5);
    job.resetProfile();
    EXPECT_TRUE(job.profile(0).empty());
  }
}

TEST(Started, AFailingRankEndsTheCommunicationToo) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Job job(startedPipeline(), referenceOptions());
    job.initializeVariables();
    FailingInputs inputs("no such sample");
    auto start = std::chrono::steady_clock::now();
    std::string error = errorOf([&] { job.runStep(inputs); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_NE(error.find("stage 0, segment 'forward', instruction 0 (input values), micro-batch 2: no such sample"),
              std::string::npos)
        << error;
    EXPECT_EQ(errorOf([&] { job.runStep(inputs); }), error) << "the job stays failed";
  }
}

// One rank of a tp pair sleeps; its peer's communication waits for it.
TEST(Started, AStuckJobNamesTheCulprit) {
  JobOptions options = referenceOptions();
  options.watchdogSeconds = 0.5;
  Job job(startedPipeline(1, 2, 2), options);
  job.initializeVariables();
  SlowInputs inputs;
  std::string error = errorOf([&] { job.runStep(inputs); });
  // Whichever of the two comes to its inputs first.
  EXPECT_EQ(error.find("no rank has advanced for 0.5 s: rank "), 0u) << error;
  EXPECT_NE(error.find(" does not return from stage 0, segment 'forward', instruction 0 (input values), micro-batch 1"),
            std::string::npos)
      << error;
}

TEST(Started, BadOptions) {
  JobOptions options = referenceOptions();
  options.communicationThreads = 2;
  try {
    Job job(startedPipeline(), options);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "communication threads per rank is 2, it must be 0 or 1");
  }
}
