//===- SimulateTest.cpp - virtual time against times added up by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages and gradients are 8 bytes over links of a byte a second. Sums of a few small
// numbers: equal to the bit, or to 1e-12 where a rate is no power of two.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulate.h"
#include "LongestPaths.h"
#include "UnitCluster.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "test/unit/plan/FuzzPlan.h"
#include "test/unit/plan/PlanBuilder.h"
#include "test/unit/plan/StartedPlan.h"
#include "test/unit/plan/TinyPipeline.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using plan::Instruction;
using test::PlanBuilder;

namespace {

/// A plan of which each stage has a tensor of 8 bytes, `x`, and segments that are run once.
struct Stages {
  PlanBuilder builder;
  std::vector<uint32_t> x;

  Stages(int64_t dp, int64_t pp, int64_t microBatches = 1) : builder(dp, pp, 1, microBatches) {
    for (int s = 0; s < pp; ++s)
      x.push_back(builder.buffer(s, "x", plan::Region::SCRATCH, plan::F64, {1}));
  }

  uint32_t segment(int stage) { return builder.segment(stage, "forward", plan::Segment::FORWARD); }
  void compute(int stage, uint32_t segment, int64_t seconds) {
    builder.kernel(stage, segment, "copy", {x[stage]}, {x[stage]}).mutable_cost()->set_flops(seconds);
  }
  void start(int stage, uint32_t segment, uint32_t group, uint32_t event, Instruction::Stream stream) {
    Instruction &made = builder.collective(stage, segment, Instruction::ALL_REDUCE, group, x[stage], x[stage]);
    made.set_event(event);
    made.set_stream(stream);
  }
  void wait(int stage, uint32_t segment, uint32_t event) {
    builder.instruction(stage, segment, Instruction::WAIT, "", {x[stage]}, {}).set_event(event);
  }
};

/// Both forms of a simulation, which must agree.
SimulatedStep simulated(const plan::Plan &plan, const cost::Cluster &cluster) {
  SimulatedStep step = simulate(plan, cluster), recorded = simulate(plan, cluster, {.recordsEvents = true});
  EXPECT_NEAR(step.seconds, recorded.seconds, 1e-12 * step.seconds);
  for (size_t s = 0; s < step.stages.size(); ++s) {
    const RankSeconds &rank = recorded.stages[s];
    double all = rank.computing + rank.exposed.total() + rank.idle + step.overheadSeconds;
    EXPECT_NEAR(all, step.seconds, 1e-12 * step.seconds) << "every second of stage " << s << " is of one kind";
    EXPECT_NEAR(step.stages[s].computing, rank.computing, 1e-12 * step.seconds);
    EXPECT_NEAR(step.stages[s].idle, rank.idle, 1e-12 * step.seconds);
  }
  return recorded;
}

// Stage 0: computes to 3, sends to 11, computes to 14, sends to 22. Stage 1: waits, computes 11 to 16, waits, 22 to 27.
TEST(Simulate, aMessageArrivesWhenItWasSent) {
  Stages stages(1, 2, 2);
  uint32_t channel = stages.builder.channel(0, 1, 1, plan::F64, {1});
  uint32_t first = stages.segment(0), second = stages.segment(1);
  stages.compute(0, first, 3);
  stages.builder.send(0, first, channel, stages.x[0]);
  stages.builder.receive(1, second, channel, stages.x[1]);
  stages.compute(1, second, 5);
  for (int64_t m = 0; m < 2; ++m) {
    stages.builder.run(0, first, m);
    stages.builder.run(1, second, m);
  }
  SimulatedStep step = simulated(stages.builder.build(), test::unitCluster(1));
  EXPECT_DOUBLE_EQ(step.seconds, 27);
  EXPECT_DOUBLE_EQ(step.stages[0].computing, 6);
  EXPECT_DOUBLE_EQ(step.stages[0].exposed[Traffic::Pipeline], 16);
  EXPECT_DOUBLE_EQ(step.stages[0].idle, 5); // behind its end
  EXPECT_DOUBLE_EQ(step.stages[1].computing, 10);
  EXPECT_DOUBLE_EQ(step.stages[1].exposed[Traffic::Pipeline], 8 + 6); // while a message was on its way
  EXPECT_DOUBLE_EQ(step.stages[1].idle, 3);                           // before anything was sent
  EXPECT_DOUBLE_EQ(step.stages[1].entries[0].begin, 11);
  EXPECT_DOUBLE_EQ(step.stages[1].entries[1].end, 27);
}

/// Stage 0 sends three messages as fast as it can; stage 1 takes 20 s for each. Latency 1, bytes for nothing.
plan::Plan slowReceiver(uint32_t depth) {
  Stages stages(1, 2, 3);
  uint32_t channel = stages.builder.channel(0, 1, depth, plan::F64, {1});
  uint32_t first = stages.segment(0), second = stages.segment(1);
  stages.compute(0, first, 3);
  stages.builder.send(0, first, channel, stages.x[0]);
  stages.builder.receive(1, second, channel, stages.x[1]);
  stages.compute(1, second, 20);
  for (int64_t m = 0; m < 3; ++m) {
    stages.builder.run(0, first, m);
    stages.builder.run(1, second, m);
  }
  return stages.builder.build();
}

// With one message buffer the third send waits until the second message is taken out, at 24.
TEST(Simulate, aSenderWaitsForAFreeBuffer) {
  SimulatedStep one = simulated(slowReceiver(1), test::unitCluster(1e30, 1));
  EXPECT_DOUBLE_EQ(one.stages[0].end, 25);
  EXPECT_DOUBLE_EQ(one.stages[0].idle, (24 - 11) + (64 - 25));
  SimulatedStep two = simulated(slowReceiver(2), test::unitCluster(1e30, 1));
  EXPECT_DOUBLE_EQ(two.stages[0].end, 12);
  EXPECT_DOUBLE_EQ(two.seconds, 64);
}

// Without message buffers both ends meet: the messages pass at 3, 24 and 45.
TEST(Simulate, aRendezvousTakesBothEnds) {
  SimulatedStep step = simulated(slowReceiver(0), test::unitCluster(1e30, 1));
  EXPECT_DOUBLE_EQ(step.stages[0].end, 46);
  EXPECT_DOUBLE_EQ(step.stages[0].exposed[Traffic::Pipeline], 3);
  EXPECT_DOUBLE_EQ(step.stages[1].exposed[Traffic::Pipeline], 3);
  EXPECT_DOUBLE_EQ(step.stages[1].idle, 3);
  EXPECT_DOUBLE_EQ(step.seconds, 66);
}

// Over three stages: 2 * 2/3 of 8 bytes, begun when the last one comes at 9.
TEST(Simulate, aCollectiveBeginsWithItsLastMember) {
  Stages stages(1, 3);
  uint32_t group = stages.builder.group({"pp"});
  for (int s = 0; s < 3; ++s) {
    uint32_t segment = stages.segment(s);
    stages.compute(s, segment, 1 + 4 * s);
    stages.builder.collective(s, segment, Instruction::ALL_REDUCE, group, stages.x[s], stages.x[s]);
    stages.builder.run(s, segment, 0);
  }
  SimulatedStep step = simulated(stages.builder.build(), test::unitCluster(1));
  EXPECT_NEAR(step.seconds, 9 + 32.0 / 3, 1e-12);
  for (int s = 0; s < 3; ++s) {
    EXPECT_DOUBLE_EQ(step.stages[s].idle, 8 - 4 * s);
    EXPECT_NEAR(step.stages[s].exposed[Traffic::Pipeline], 32.0 / 3, 1e-12);
  }
}

/// Starts sums of 8 bytes over two dp ranks, 8 s each, computes, and waits.
plan::Plan started(int64_t seconds, std::vector<Instruction::Stream> streams) {
  Stages stages(2, 1);
  uint32_t group = stages.builder.group({"dp"}), segment = stages.segment(0);
  for (size_t i = 0; i < streams.size(); ++i)
    stages.start(0, segment, group, static_cast<uint32_t>(i + 1), streams[i]);
  stages.compute(0, segment, seconds);
  for (size_t i = 0; i < streams.size(); ++i)
    stages.wait(0, segment, static_cast<uint32_t>(i + 1));
  stages.builder.run(0, segment, 0);
  return stages.builder.build();
}

// Beside communication a kernel runs at three quarters of its rate: 10 s take 8 / 0.75 of them to 8, and 4 more.
TEST(Simulate, aKernelIsSlowerBesideCommunication) {
  SimulatedStep hidden = simulated(started(10, {Instruction::DATA}), test::unitCluster(1));
  EXPECT_NEAR(hidden.seconds, 12, 1e-12);
  EXPECT_NEAR(hidden.stages[0].slowedDown, 2, 1e-12);
  EXPECT_NEAR(hidden.stages[0].exposed.total(), 0, 1e-12);
  EXPECT_NEAR(hidden.stages[0].beside[Traffic::Data], 8, 1e-12);
  SimulatedStep exposed = simulated(started(3, {Instruction::DATA}), test::unitCluster(1));
  EXPECT_NEAR(exposed.seconds, 8, 1e-12);
  EXPECT_NEAR(exposed.stages[0].exposed[Traffic::Data], 4, 1e-12);
}

TEST(Simulate, aStreamRunsOneAfterTheOtherAndTwoBesideEachOther) {
  cost::Cluster cluster = test::unitCluster(1);
  EXPECT_NEAR(simulated(started(3, {Instruction::DATA, Instruction::DATA}), cluster).seconds, 16, 1e-12);
  EXPECT_NEAR(simulated(started(3, {Instruction::DATA, Instruction::TENSOR}), cluster).seconds, 8, 1e-12);
  cluster.coresPerNode = 100; // the cpu backend: one thread for both
  EXPECT_NEAR(simulated(started(3, {Instruction::DATA, Instruction::TENSOR}), cluster).seconds, 16, 1e-12);
}

// On one core, stages of 2 s and 6 s: both run at half the rate until 4, and the second has 4 s left.
TEST(Simulate, ranksShareTheCoresOfTheirNode) {
  Stages stages(1, 2);
  for (int s = 0; s < 2; ++s) {
    uint32_t segment = stages.segment(s);
    stages.compute(s, segment, 2 + 4 * s);
    stages.builder.run(s, segment, 0);
  }
  cost::Cluster cluster = test::unitCluster(1);
  cluster.coresPerNode = 1;
  SimulatedStep step = simulated(stages.builder.build(), cluster);
  EXPECT_DOUBLE_EQ(step.stages[0].end, 4);
  EXPECT_DOUBLE_EQ(step.seconds, 8);
  cluster.coresPerNode = 2;
  EXPECT_DOUBLE_EQ(simulated(stages.builder.build(), cluster).seconds, 6);
  // A node for each stage: nothing is shared.
  cluster.coresPerNode = 1;
  cluster.topology.ranksPerNode = 1;
  EXPECT_DOUBLE_EQ(simulated(stages.builder.build(), cluster).seconds, 6);
}

// Two stages on two cores, whose kernels take half as long again while both compute: 2 s of each take 3, and the second
// has 4 s alone.
TEST(Simulate, kernelsAreSlowerWhileOtherCoresCompute) {
  Stages stages(1, 2);
  for (int s = 0; s < 2; ++s) {
    uint32_t segment = stages.segment(s);
    stages.compute(s, segment, 2 + 4 * s);
    stages.builder.run(s, segment, 0);
  }
  cost::Cluster cluster = test::unitCluster(1);
  cluster.coresPerNode = 2;
  cluster.measured.emplace();
  cluster.measured->busyCoresShare = 0.5;
  SimulatedStep step = simulated(stages.builder.build(), cluster);
  EXPECT_DOUBLE_EQ(step.stages[0].end, 3);
  EXPECT_DOUBLE_EQ(step.seconds, 7);
}

// Six ranks of a stage on four cores; the MFU counts the cores.
TEST(Simulate, ranksOfAStageShareCoresToo) {
  Stages stages(6, 1);
  uint32_t segment = stages.segment(0);
  stages.compute(0, segment, 4);
  stages.builder.run(0, segment, 0);
  plan::Plan plan = stages.builder.build();
  plan.mutable_training()->set_model_flops_per_step(12);
  cost::Cluster cluster = test::unitCluster(1);
  cluster.coresPerNode = 4;
  cluster.software.stepSeconds = 1;
  SimulatedStep step = simulated(plan, cluster);
  EXPECT_DOUBLE_EQ(step.seconds, 7);
  EXPECT_DOUBLE_EQ(step.modelFlopsShare, 12.0 / (4 * 7));
  EXPECT_DOUBLE_EQ(step.tokensPerSecond, 6.0 * 4 / 7); // a sample of four tokens a rank
}

// What software makes of hardware counts as in the closed form: bytes of elementwise kernels, the rate of attention,
// the bandwidth of dp collectives and the start of a send.
TEST(Simulate, softwareFiguresAreThoseOfTheClosedForm) {
  Stages stages(2, 2);
  uint32_t group = stages.builder.group({"dp"}), channel = stages.builder.channel(0, 1, 1, plan::F64, {1});
  uint32_t first = stages.segment(0), second = stages.segment(1);
  stages.compute(0, first, 6);
  stages.compute(0, first, 0);
  stages.builder.collective(0, first, Instruction::ALL_REDUCE, group, stages.x[0], stages.x[0]);
  stages.builder.send(0, first, channel, stages.x[0]);
  stages.builder.receive(1, second, channel, stages.x[1]);
  stages.builder.run(0, first, 0);
  stages.builder.run(1, second, 0);
  plan::Plan plan = stages.builder.build();
  auto *instructions = plan.mutable_stages(0)->mutable_segments(0)->mutable_instructions();
  instructions->Mutable(0)->mutable_cost()->set_work(plan::Cost::ATTENTION);
  instructions->Mutable(1)->mutable_cost()->set_bytes_read(10);
  cost::Cluster cluster = test::unitCluster(1);
  cluster.device.memoryBytesPerSecond = 1;
  cluster.software.attentionRate = 0.5;
  cluster.software.elementwiseTraffic = 1.5;
  cluster.software.dataBandwidth = 0.25;
  cluster.software.sendStartSeconds = 3;
  SimulatedStep step = simulated(plan, cluster);
  EXPECT_DOUBLE_EQ(step.stages[0].computing, 12 + 15);
  EXPECT_DOUBLE_EQ(step.stages[0].exposed[Traffic::Data], 32);
  EXPECT_DOUBLE_EQ(step.stages[0].exposed[Traffic::Pipeline], 11);
}

// A plan with every transport, for whatever numbers of ranks and micro-batches: instruction by instruction.
TEST(Simulate, everyInstructionEndsAsLateAsWhatItWaitsFor) {
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
TEST(Simulate, replicasChangeNothingWhereCollectivesTakeNoTime) {
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

TEST(Simulate, startedCollectivesAreRecordedOnTheirStreams) {
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
TEST(Simulate, damagedPlansThatAreValidYet) {
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

TEST(Simulate, aPlanWithNothingToRunIsRefused) {
  try {
    simulate(PlanBuilder(1, 1, 1, 1).build(), test::unitCluster(1));
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no segments to run"));
  }
}

// What checkPlan would have refused ends in an error, not in half a result.
TEST(Simulate, stagesThatWaitForEachOtherAreNamed) {
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
