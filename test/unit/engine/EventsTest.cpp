//===- EventsTest.cpp - what a job records of its last steps ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

/// How often each instruction of a stage's schedule was recorded, by step, entry and instruction.
std::map<std::tuple<int64_t, int, int>, int> countsOf(const std::vector<InstructionEvent> &events) {
  std::map<std::tuple<int64_t, int, int>, int> counts;
  for (const InstructionEvent &event : events)
    ++counts[{event.step, event.entry, event.instruction}];
  return counts;
}

/// Every instruction of every entry is there, once a step, on its stream, and a stream's do not overlap.
void expectWhole(const Job &job, int64_t firstStep, int64_t lastStep, bool hasThreads) {
  for (int64_t rank = 0; rank < job.ranks(); ++rank) {
    std::vector<InstructionEvent> events = job.events(rank);
    std::map<std::tuple<int64_t, int, int>, int> counts = countsOf(events);
    size_t expected = 0;
    const plan::StageProgram &stage = job.plan().stages(events.at(0).stage);
    for (int64_t step = firstStep; step <= lastStep; ++step)
      for (int e = 0; e < stage.schedule_size(); ++e)
        for (int i = 0; i < stage.segments(static_cast<int>(stage.schedule(e).segment())).instructions_size(); ++i) {
          EXPECT_EQ((counts[{step, e, i}]), 1) << "rank " << rank << ", step " << step << ", entry " << e;
          ++expected;
        }
    EXPECT_EQ(events.size(), expected);
    std::map<int, double> ends;
    for (const InstructionEvent &event : events) {
      EXPECT_EQ(event.rank, rank);
      EXPECT_EQ(event.stream, hasThreads ? event.instructionIn(job.plan()).stream() : plan::Instruction::COMPUTE);
      EXPECT_LE(event.beginSeconds, event.endSeconds);
      EXPECT_GE(event.beginSeconds, ends[event.stream > 0]); // both streams of communication have one thread
      ends[event.stream > 0] = event.endSeconds;
    }
  }
}

TEST(Events, theLastStepsAreWhole) {
  for (int threads : {0, 1})
    for (int64_t traced : {1, 2, 5})
      for (bool starts : {false, true}) {
        JobOptions options = referenceOptions();
        options.tracedSteps = traced;
        options.communicationThreads = threads;
        Job job(starts ? withStartedCollectives(tinyPipeline()) : tinyPipeline(), options);
        job.initializeVariables();
        TinyInputs inputs;
        for (int step = 0; step < 3; ++step)
          job.runStep(inputs);
        expectWhole(job, std::max<int64_t>(1, 4 - traced), 3, threads == 1 && starts);
      }
}

TEST(Events, withoutTracingThereAreNone) {
  Job job(tinyPipeline(), referenceOptions());
  job.initializeVariables();
  TinyInputs inputs;
  job.runStep(inputs);
  EXPECT_TRUE(job.events(0).empty());
}

TEST(Events, aNegativeNumberOfStepsIsRefused) {
  JobOptions options = referenceOptions();
  options.tracedSteps = -1;
  EXPECT_THROW(Job(tinyPipeline(), options), Error);
}

} // namespace
