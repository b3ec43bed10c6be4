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

#include "SimulatedStages.h"
#include "UnitCluster.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using plan::Instruction;
using test::simulated;
using test::Stages;

namespace {

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

} // namespace
