//===- ScheduleTimesTest.cpp - when the entries of all stages run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/report/ScheduleTimes.h"
#include "test/unit/plan/TinyPipeline.h"

#include <gtest/gtest.h>

using namespace tgpt;

/// A pipeline in which computing takes 10 operations a segment and nothing else takes any.
static plan::Plan pipeline(int64_t microBatches) {
  plan::Plan plan = test::tinyPipeline(1, 1, microBatches);
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments()) {
      for (plan::Instruction &instruction : *segment.mutable_instructions())
        instruction.clear_cost();
      bool isRun = segment.kind() == plan::Segment::FORWARD || segment.kind() == plan::Segment::BACKWARD;
      for (plan::Instruction &instruction : *segment.mutable_instructions())
        if (isRun && instruction.kind() == plan::Instruction::KERNEL) {
          instruction.mutable_cost()->set_flops(10);
          break;
        }
    }
  return plan;
}

TEST(ScheduleTimes, EntriesFollowEachOtherAndWaitForMessages) {
  plan::Plan plan = pipeline(3);
  std::vector<std::vector<EntryTime>> times = scheduleTimesOf(plan);
  ASSERT_EQ(times.size(), 2u);
  for (int s = 0; s < 2; ++s) {
    ASSERT_EQ(static_cast<int>(times[s].size()), plan.stages(s).schedule_size());
    for (size_t e = 1; e < times[s].size(); ++e)
      EXPECT_GE(times[s][e].begin, times[s][e - 1].end);
  }
  // The last stage begins when the first has sent, the first backward of stage 0 when the last has.
  auto timeOf = [&](int s, plan::Segment::Kind kind) {
    for (int e = 0; e < plan.stages(s).schedule_size(); ++e)
      if (plan.stages(s).segments(plan.stages(s).schedule(e).segment()).kind() == kind)
        return times[s][e];
    return EntryTime();
  };
  EXPECT_GE(timeOf(1, plan::Segment::FORWARD).end, timeOf(0, plan::Segment::FORWARD).end);
  EXPECT_GE(timeOf(0, plan::Segment::BACKWARD).end, timeOf(1, plan::Segment::FORWARD).end);
  EXPECT_GT(timeOf(0, plan::Segment::FORWARD).end, 0);
}
