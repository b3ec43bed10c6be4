//===- SimulatedStages.h - plans written by hand, and their simulation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_SIM_SIMULATEDSTAGES_H
#define TGPT_TEST_UNIT_SIM_SIMULATEDSTAGES_H

#include "runtime/sim/Simulate.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

namespace tgpt::test {

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
  void start(int stage, uint32_t segment, uint32_t group, uint32_t event, plan::Instruction::Stream stream) {
    plan::Instruction &made =
        builder.collective(stage, segment, plan::Instruction::ALL_REDUCE, group, x[stage], x[stage]);
    made.set_event(event);
    made.set_stream(stream);
  }
  void wait(int stage, uint32_t segment, uint32_t event) {
    builder.instruction(stage, segment, plan::Instruction::WAIT, "", {x[stage]}, {}).set_event(event);
  }
};

/// Both forms of a simulation, which must agree.
inline runtime::sim::SimulatedStep simulated(const plan::Plan &plan, const cost::Cluster &cluster) {
  runtime::sim::SimulatedStep step = runtime::sim::simulate(plan, cluster),
                              recorded = runtime::sim::simulate(plan, cluster, {.recordsEvents = true});
  EXPECT_NEAR(step.seconds, recorded.seconds, 1e-12 * step.seconds);
  for (size_t s = 0; s < step.stages.size(); ++s) {
    const runtime::sim::RankSeconds &rank = recorded.stages[s];
    double all = rank.computing + rank.exposed.total() + rank.idle + step.overheadSeconds;
    EXPECT_NEAR(all, step.seconds, 1e-12 * step.seconds) << "every second of stage " << s << " is of one kind";
    EXPECT_NEAR(step.stages[s].computing, rank.computing, 1e-12 * step.seconds);
    EXPECT_NEAR(step.stages[s].idle, rank.idle, 1e-12 * step.seconds);
  }
  return recorded;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_SIM_SIMULATEDSTAGES_H
