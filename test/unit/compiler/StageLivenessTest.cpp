//===- StageLivenessTest.cpp - what a stage holds at each moment ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compared with the slow way: every buffer of every micro-batch is followed through the
// whole schedule, instruction by instruction.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/StageLiveness.h"
#include "runtime/plan/BufferExtent.h"
#include "test/unit/plan/ChunkedPlan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace tgpt;

namespace {

using Instance = std::pair<uint32_t, int64_t>; // buffer, and the micro-batch or, of what is not kept, the entry

/// Bytes live at every instruction of the schedule, one after the other.
std::vector<int64_t> slowBytes(const plan::StageProgram &stage) {
  std::map<uint32_t, std::map<uint32_t, bool>> segmentsOf; // of each buffer
  for (int s = 0; s < stage.segments_size(); ++s)
    for (const plan::Instruction &instruction : stage.segments(s).instructions())
      for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
        for (uint32_t buffer : *operands)
          segmentsOf[buffer][s] = true;
  std::map<Instance, std::pair<int64_t, int64_t>> lives;
  int64_t time = 0, always = 0;
  auto kindOf = [&](uint32_t buffer) { return stage.regions(stage.buffers(buffer).region()).kind(); };
  for (int e = 0; e < stage.schedule_size(); ++e)
    for (const plan::Instruction &instruction : stage.segments(stage.schedule(e).segment()).instructions()) {
      for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
        for (uint32_t buffer : *operands) {
          if (!runtime::isEmptyBetweenSteps(kindOf(buffer)))
            continue;
          bool isKept = runtime::isOfMicroBatch(kindOf(buffer)) && segmentsOf[buffer].size() > 1;
          Instance instance = {buffer, isKept ? stage.schedule(e).micro_batch() : 1000000 + e};
          lives.try_emplace(instance, time, time).first->second.second = time;
        }
      ++time;
    }
  for (int i = 0; i < stage.buffers_size(); ++i)
    if (!runtime::isEmptyBetweenSteps(kindOf(i)))
      always += runtime::tensorBytes(stage.buffers(i).dtype(), stage.buffers(i).shape()).value_or(0);
  std::vector<int64_t> bytes(time, always);
  for (const auto &[instance, life] : lives)
    for (int64_t at = life.first; at <= life.second; ++at) {
      const plan::Buffer &buffer = stage.buffers(instance.first);
      bytes[at] += runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0);
    }
  return bytes;
}

std::vector<int64_t> fastBytes(const plan::StageProgram &stage, const StageLiveness &liveness) {
  std::vector<int64_t> bytes;
  for (int e = 0; e < stage.schedule_size(); ++e)
    for (const InstructionBytes &own : liveness.profile(stage.schedule(e).segment()))
      bytes.push_back(liveness.residentBytes() + liveness.keptByOthers()[e] + own.activations + own.scratch);
  return bytes;
}

} // namespace

TEST(StageLiveness, EqualsFollowingEveryBuffer) {
  std::vector<plan::Plan> plans = {test::chunkedPlan(), test::pagedPlan(), test::placedPlan()};
  for (int64_t microBatches : {1, 2, 3, 6})
    plans.push_back(test::tinyPipeline(2, 2, microBatches));
  for (const plan::Plan &plan : plans)
    for (const plan::StageProgram &stage : plan.stages()) {
      StageLiveness liveness(stage);
      std::vector<int64_t> slow = slowBytes(stage), fast = fastBytes(stage, liveness);
      EXPECT_EQ(fast, slow) << "stage " << stage.stage() << " of plan " << &plan - plans.data();
      EXPECT_EQ(liveness.peak().bytes, *std::max_element(slow.begin(), slow.end()));
    }
}

TEST(StageLiveness, WhatIsLiveAddsUpAtEveryMoment) {
  plan::Plan plan = test::tinyPipeline();
  for (const plan::StageProgram &stage : plan.stages()) {
    StageLiveness liveness(stage);
    std::vector<int64_t> bytes = fastBytes(stage, liveness);
    size_t at = 0;
    for (int64_t e = 0; e < stage.schedule_size(); ++e)
      for (int64_t i = 0; i < stage.segments(stage.schedule(e).segment()).instructions_size(); ++i, ++at) {
        int64_t sum = 0;
        for (const LiveBuffer &live : liveness.liveAt({e, i, 0})) {
          const plan::Buffer &buffer = stage.buffers(live.buffer);
          sum += live.copies * runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0);
        }
        EXPECT_EQ(sum, bytes[at]) << "stage " << stage.stage() << ", entry " << e << ", instruction " << i;
      }
  }
}

TEST(StageLiveness, CountsMicroBatchesInFlight) {
  plan::Plan plan = test::tinyPipeline(1, 1, 3);
  StageLiveness first(plan.stages(0)), last(plan.stages(1));
  int64_t most = 0, mostOfLast = 0;
  for (int e = 0; e < plan.stages(0).schedule_size(); ++e)
    most = std::max(most, first.microBatchesInFlight(e));
  for (int e = 0; e < plan.stages(1).schedule_size(); ++e)
    mostOfLast = std::max(mostOfLast, last.microBatchesInFlight(e));
  EXPECT_LE(most, 2);
  EXPECT_LE(mostOfLast, 1);
}
