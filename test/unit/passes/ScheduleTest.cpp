//===- ScheduleTest.cpp - schedules are complete, in order and hold what they say ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleCases.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <set>

using namespace tgpt;

namespace {

std::vector<ScheduleCase> everyCase() {
  std::vector<ScheduleCase> cases = allCases(), more = casesWithEmptyStages();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

TEST(Schedule, everyWorkThatThereIsOccursOnceAndMicroBatchesStayInOrder) {
  for (const ScheduleCase &each : everyCase()) {
    SCOPED_TRACE(each.toString());
    const PipelineShape &shape = each.shape;
    std::vector<StageSchedule> schedules = makeSchedule(each.kind, shape);
    ASSERT_EQ(static_cast<int64_t>(schedules.size()), shape.stages);
    for (int64_t stage = 0; stage < shape.stages; ++stage) {
      std::map<std::pair<int64_t, WorkKind>, int64_t> done; // of (chunk, kind): the next micro-batch
      for (const ScheduleEntry &entry : schedules[stage].entries()) {
        ASSERT_EQ(entry.microBatch, (done[{entry.chunk, entry.kind}]++)) << entry.toString();
        ASSERT_LE((done[{entry.chunk, WorkKind::Backward}]), (done[{entry.chunk, WorkKind::Forward}]));
        ASSERT_LE((done[{entry.chunk, WorkKind::WeightGradient}]), (done[{entry.chunk, WorkKind::Backward}]));
      }
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
        int64_t v = shape.virtualStage(stage, chunk), expected = shape.hasWork(v) ? shape.microBatches : 0;
        EXPECT_EQ((done[{chunk, WorkKind::Forward}]), expected);
        EXPECT_EQ((done[{chunk, WorkKind::Backward}]), expected);
        EXPECT_EQ((done[{chunk, WorkKind::WeightGradient}]), isSplit(each, v) ? expected : 0);
      }
    }
  }
}

TEST(Schedule, aSlotIsHeldByOneMicroBatchFromItsForwardToItsLastEntryAndAllSlotsAreNeeded) {
  for (const ScheduleCase &each : everyCase()) {
    SCOPED_TRACE(each.toString());
    std::vector<StageSchedule> schedules = makeSchedule(each.kind, each.shape);
    for (int64_t stage = 0; stage < each.shape.stages; ++stage) {
      std::vector<std::map<int64_t, int64_t>> held(each.shape.chunks); // slot -> micro-batch
      std::vector<int64_t> most(each.shape.chunks, 0);
      for (const ScheduleEntry &entry : schedules[stage].entries()) {
        std::map<int64_t, int64_t> &ofChunk = held[entry.chunk];
        ASSERT_GE(entry.slot, 0);
        ASSERT_LT(entry.slot, schedules[stage].slots[entry.chunk]);
        if (entry.kind == WorkKind::Forward) {
          ASSERT_TRUE(ofChunk.emplace(entry.slot, entry.microBatch).second) << entry.toString();
        }
        ASSERT_TRUE(ofChunk.count(entry.slot)) << entry.toString();
        ASSERT_EQ(ofChunk[entry.slot], entry.microBatch) << entry.toString();
        most[entry.chunk] = std::max(most[entry.chunk], static_cast<int64_t>(ofChunk.size()));
        WorkKind last =
            isSplit(each, each.shape.virtualStage(stage, entry.chunk)) ? WorkKind::WeightGradient : WorkKind::Backward;
        if (entry.kind == last)
          ofChunk.erase(entry.slot);
      }
      EXPECT_EQ(schedules[stage].slots, most);
      for (const auto &ofChunk : held)
        EXPECT_TRUE(ofChunk.empty());
    }
  }
}

TEST(Schedule, oneForwardOneBackwardHoldsAsManyMicroBatchesAsStagesFollow) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches : {int64_t(1), stages, stages + 1, 8 * stages}) {
      auto schedules = makeSchedule(ScheduleKind::OneForwardOneBackward, {stages, 1, microBatches});
      for (int64_t stage = 0; stage < stages; ++stage)
        EXPECT_EQ(schedules[stage].slots, std::vector<int64_t>{std::min(microBatches, stages - stage)});
    }
}

std::vector<std::vector<int64_t>> slotsOf(ScheduleKind kind, const PipelineShape &shape) {
  std::vector<std::vector<int64_t>> slots;
  for (const StageSchedule &schedule : makeSchedule(kind, shape))
    slots.push_back(schedule.slots);
  return slots;
}

// What a stage holds must not grow with the length of a step.
TEST(Schedule, slotsStayTheSameOnceThePipelineIsFull) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (ScheduleKind kind : {ScheduleKind::OneForwardOneBackward, ScheduleKind::ZeroBubble}) {
      auto full = slotsOf(kind, {stages, 1, stages});
      for (int64_t microBatches : {stages + 1, 2 * stages, 8 * stages, 33 * stages + 1})
        EXPECT_EQ(slotsOf(kind, {stages, 1, microBatches}), full) << stages << " stages, " << microBatches;
    }
}

// With chunks, slots depend on the sizes of the groups that the micro-batches are dealt out in, but not on their
// number.
TEST(Schedule, slotsOfChunksDoNotGrowWithTheStep) {
  auto mostSlots = [](ScheduleKind kind, int64_t stages, int64_t chunks, int64_t from, int64_t to) {
    int64_t most = 0;
    for (int64_t microBatches = from; microBatches < to; ++microBatches)
      for (const auto &schedule : makeSchedule(kind, {stages, chunks, microBatches}))
        most = std::max(most, schedule.countSlots());
    return most;
  };
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t chunks = 2; chunks <= 3; ++chunks)
      for (ScheduleKind kind : {ScheduleKind::OneForwardOneBackward, ScheduleKind::ZeroBubble})
        EXPECT_LE(mostSlots(kind, stages, chunks, 8 * stages, 10 * stages),
                  mostSlots(kind, stages, chunks, 2 * stages, 4 * stages))
            << stages << " stages, " << chunks << " chunks";
}

TEST(Schedule, zeroBubbleHoldsNoMoreThanOneForwardOneBackwardDoesOnItsFullestStage) {
  for (const ScheduleCase &each : everyCase()) {
    if (each.kind != ScheduleKind::ZeroBubble)
      continue;
    SCOPED_TRACE(each.toString());
    int64_t most = 0;
    for (const auto &schedule : makeSchedule(ScheduleKind::OneForwardOneBackward, each.shape))
      most = std::max(most, schedule.countSlots());
    for (const auto &schedule : makeSchedule(ScheduleKind::ZeroBubble, each.shape))
      EXPECT_LE(schedule.countSlots(), most);
  }
}

TEST(Schedule, phasesAreNamed) {
  auto text = [](const std::vector<ScheduleEntry> &entries) {
    std::string all;
    for (const ScheduleEntry &entry : entries)
      all += (all.empty() ? "" : " ") + entry.toString();
    return all;
  };
  StageSchedule first = makeSchedule(ScheduleKind::OneForwardOneBackward, {3, 1, 4})[0];
  EXPECT_EQ(text(first.warmUp), "F0@0 F1@1");
  EXPECT_EQ(text(first.steady), "F2@2 B0@0 F3@0 B1@1");
  EXPECT_EQ(text(first.coolDown), "B2@2 B3@0");
  // Too few micro-batches ever to be steady.
  StageSchedule few = makeSchedule(ScheduleKind::OneForwardOneBackward, {4, 1, 2})[0];
  EXPECT_EQ(text(few.warmUp), "F0@0 F1@1");
  EXPECT_EQ(text(few.steady), "");
  EXPECT_EQ(text(few.coolDown), "B0@0 B1@1");
  StageSchedule all = makeSchedule(ScheduleKind::GPipe, {2, 1, 2})[1];
  EXPECT_EQ(text(all.warmUp), "F0@0 F1@1");
  EXPECT_EQ(text(all.steady), "");
  EXPECT_EQ(text(all.coolDown), "B0@0 B1@1");
  StageSchedule split = makeSchedule(ScheduleKind::ZeroBubble, {3, 1, 4})[0];
  EXPECT_EQ(text(split.warmUp), "F0@0 F1@1");
  EXPECT_EQ(text(split.steady), "F2@2 B0@0 W0@0 F3@0 B1@1");
  EXPECT_EQ(text(split.coolDown), "W1@1 B2@2 W2@2 B3@0 W3@0");
  StageSchedule chunked = makeSchedule(ScheduleKind::OneForwardOneBackward, {2, 2, 4})[0];
  EXPECT_EQ(text(chunked.warmUp), "F0@0 F1@1 F0.1@0 F1.1@1");
  EXPECT_EQ(text(chunked.steady), "F2@2 B0.1@0 F3@3 B1.1@1 F2.1@0 B0@0 F3.1@1 B1@1");
  EXPECT_EQ(text(chunked.coolDown), "B2.1@0 B3.1@1 B2@2 B3@3");
}

TEST(ScheduleEntry, isWrittenAsInTheSchedule) {
  EXPECT_EQ((ScheduleEntry{WorkKind::Forward, 3, 0, 1}.toString()), "F3@1");
  EXPECT_EQ((ScheduleEntry{WorkKind::Backward, 12, 0, 0}.toString()), "B12@0");
  EXPECT_EQ((ScheduleEntry{WorkKind::WeightGradient, 7, 2, 14}.toString()), "W7.2@14");
}

TEST(ScheduleKind, hasNames) {
  EXPECT_EQ(parseScheduleKind("gpipe"), ScheduleKind::GPipe);
  EXPECT_EQ(parseScheduleKind("1f1b"), ScheduleKind::OneForwardOneBackward);
  EXPECT_EQ(parseScheduleKind("zero-bubble"), ScheduleKind::ZeroBubble);
  EXPECT_FALSE(parseScheduleKind("zb"));
}

} // namespace
