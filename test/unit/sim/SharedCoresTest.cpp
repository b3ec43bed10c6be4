//===- SharedCoresTest.cpp - virtual time where ranks share the cores of a node ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulatedStages.h"
#include "UnitCluster.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using test::simulated;
using test::Stages;

namespace {

/// Two stages that compute so long, and have nothing to do with each other.
plan::Plan twoAndSixSeconds() {
  Stages stages(1, 2);
  for (int s = 0; s < 2; ++s) {
    uint32_t segment = stages.segment(s);
    stages.compute(s, segment, 2 + 4 * s);
    stages.builder.run(s, segment, 0);
  }
  return stages.builder.build();
}

// On one core, stages of 2 s and 6 s: both run at half the rate until 4, and the second has 4 s left.
TEST(SharedCores, ranksShareTheCoresOfTheirNode) {
  plan::Plan plan = twoAndSixSeconds();
  cost::Cluster cluster = test::unitCluster(1);
  cluster.coresPerNode = 1;
  SimulatedStep step = simulated(plan, cluster);
  EXPECT_DOUBLE_EQ(step.stages[0].end, 4);
  EXPECT_DOUBLE_EQ(step.seconds, 8);
  cluster.coresPerNode = 2;
  EXPECT_DOUBLE_EQ(simulated(plan, cluster).seconds, 6);
  // A node for each stage: nothing is shared.
  cluster.coresPerNode = 1;
  cluster.topology.ranksPerNode = 1;
  EXPECT_DOUBLE_EQ(simulated(plan, cluster).seconds, 6);
}

// Two stages on two cores, whose kernels take half as long again while both compute: 2 s of each take 3, and the second
// has 4 s alone.
TEST(SharedCores, kernelsAreSlowerWhileOtherCoresCompute) {
  plan::Plan plan = twoAndSixSeconds();
  cost::Cluster cluster = test::unitCluster(1);
  cluster.coresPerNode = 2;
  cluster.measured.emplace();
  cluster.measured->busyCoresShare = 0.5;
  SimulatedStep step = simulated(plan, cluster);
  EXPECT_DOUBLE_EQ(step.stages[0].end, 3);
  EXPECT_DOUBLE_EQ(step.seconds, 7);
}

// Six ranks of a stage on four cores; the MFU counts the cores.
TEST(SharedCores, ranksOfAStageShareCoresToo) {
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

} // namespace
