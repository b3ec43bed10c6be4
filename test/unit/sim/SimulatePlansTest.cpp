//===- SimulatePlansTest.cpp - virtual time of whole plans, valid or not ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LongestPaths.h"
#include "SimulatedStages.h"
#include "UnitCluster.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "test/unit/plan/FuzzPlan.h"
#include "test/unit/plan/StartedPlan.h"
#include "test/unit/plan/TinyPipeline.h"
#include <cmath>
#include <gmock/gmock.h>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using plan::Instruction;
using test::simulated;
using test::Stages;

namespace {

// A plan with every transport, for whatever numbers of ranks and micro-batches: instruction by instruction.
TEST(SimulatePlans, everyInstructionEndsAsLateAsWhatItWaitsFor) {
  for (int64_t dp : {1, 2})
    for (int64_t tp : {1, 2})
      for (int64_t microBatches : {1, 2, 3, 7}) {
        plan::Plan plan = test::tinyPipeline(dp, tp, microBatches);
        int64_t seconds = 1;
        for (plan::StageProgram &stage : *plan.mutable_stages())
          for (plan::Segment &segment : *stage.mutable_segments())
            for (Instruction &instruction : *segment.mutable_instructions()) {
              instruction.clear_cost();
              if (instruction.kind() == Instruction::KERNEL)
                instruction.mutable_cost()->set_flops(seconds++ % 5);
            }
        checkPlan(plan);
        SimulatedStep step = simulated(plan, test::unitCluster(1e30, 0.5));
        test::LongestPaths paths(plan, 0.5);
        EXPECT_NEAR(step.seconds, paths.end(), 1e-12);
        ASSERT_EQ(step.events.size(), paths.count());
        for (const InstructionEvent &event : step.events)
          EXPECT_NEAR(event.endSeconds, paths.endOf(event.stage, event.entry, event.instruction), 1e-12)
              << eventName(event.instructionIn(plan)) << " of stage " << event.stage << ", entry " << event.entry;
      }
}

// dp and tp replicas do the same: only the collectives' times depend on their number.
TEST(SimulatePlans, replicasChangeNothingWhereCollectivesTakeNoTime) {
  auto secondsOf = [](int64_t dp, int64_t tp) {
    plan::Plan plan = test::tinyPipeline(dp, tp);
    for (plan::StageProgram &stage : *plan.mutable_stages())
      for (plan::Segment &segment : *stage.mutable_segments())
        segment.mutable_instructions(0)->mutable_cost()->set_flops(2);
    return simulated(plan, test::unitCluster(1e30)).seconds;
  };
  EXPECT_GT(secondsOf(1, 1), 2);
  EXPECT_DOUBLE_EQ(secondsOf(64, 4), secondsOf(1, 1));
}

TEST(SimulatePlans, startedCollectivesAreRecordedOnTheirStreams) {
  plan::Plan plan = test::withStartedCollectives(test::tinyPipeline());
  int started = 0;
  for (const InstructionEvent &event : simulated(plan, test::unitCluster(1)).events) {
    EXPECT_EQ(event.stream, event.instructionIn(plan).stream());
    EXPECT_LE(event.beginSeconds, event.endSeconds);
    started += event.stream != Instruction::COMPUTE;
  }
  EXPECT_GT(started, 0);
}

// Whatever a checked plan says, a simulation ends, with every second of one kind.
TEST(SimulatePlans, damagedPlansThatAreValidYet) {
  std::mt19937_64 random(1);
  int valid = 0;
  for (int i = 0; i < 3000; ++i) {
    plan::Plan plan = i % 2 ? test::tinyPipeline() : test::withStartedCollectives(test::tinyPipeline());
    test::damageRandomField(plan, random);
    cost::Cluster cluster = test::unitCluster(1, 0.25);
    cluster.coresPerNode = i % 3;
    try {
      checkPlan(plan);
    } catch (const Error &) {
      continue;
    }
    SimulatedStep step = simulate(plan, cluster, {.recordsEvents = true});
    EXPECT_TRUE(std::isfinite(step.seconds) && step.seconds > 0) << step.seconds;
    for (const RankSeconds &rank : step.stages)
      EXPECT_NEAR(rank.busy() + rank.idle, step.seconds, 1e-9 * step.seconds);
    for (const InstructionEvent &event : step.events)
      EXPECT_LE(event.beginSeconds, event.endSeconds);
    ++valid;
  }
  EXPECT_GT(valid, 500);
}

TEST(SimulatePlans, aPlanWithNothingToRunIsRefused) {
  try {
    simulate(test::PlanBuilder(1, 1, 1, 1).build(), test::unitCluster(1));
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no segments to run"));
  }
}

// What checkPlan would have refused ends in an error, not in half a result.
TEST(SimulatePlans, stagesThatWaitForEachOtherAreNamed) {
  Stages stages(1, 2);
  uint32_t there = stages.builder.channel(0, 1, 1, plan::F64, {1}),
           back = stages.builder.channel(1, 0, 1, plan::F64, {1});
  uint32_t first = stages.segment(0), second = stages.segment(1);
  stages.builder.receive(0, first, back, stages.x[0]);
  stages.builder.send(0, first, there, stages.x[0]);
  stages.builder.receive(1, second, there, stages.x[1]);
  stages.builder.send(1, second, back, stages.x[1]);
  stages.builder.run(0, first, 0);
  stages.builder.run(1, second, 0);
  try {
    simulate(stages.builder.build(), test::unitCluster(1));
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("stages wait for each other"));
    EXPECT_THAT(error.details(), testing::HasSubstr("stage 1, segment 'forward', instruction 0 (recv)"));
  }
}

} // namespace
