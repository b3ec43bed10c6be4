//===- ScheduleBubbleTest.cpp - how long stages wait, against closed forms ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bubble is the time that stages wait over the time that they work. A backward that is
// split takes a unit for each half; whole, it takes one unit in one table and two in the
// other, as it does for equal layers.
//
//===----------------------------------------------------------------------===//

#include "ScheduleCases.h"
#include "passes/pipeline/schedule/Gantt.h"
#include "passes/pipeline/schedule/Simulation.h"
#include "gtest/gtest.h"
#include <cstdio>

using namespace tgpt;

namespace {

constexpr WorkTimes equalHalves{1, 1, 0};     // F = B
constexpr WorkTimes threeEqualParts{1, 1, 1}; // F = B = W; W is part of a whole backward

Timeline timelineOf(ScheduleKind kind, int64_t stages, int64_t chunks, int64_t microBatches, WorkTimes times) {
  PipelineShape shape{stages, chunks, microBatches};
  Timeline timeline = simulate(shape, makeSchedule(kind, shape), {times});
  EXPECT_TRUE(timeline.isComplete);
  return timeline;
}

// (p - 1) / m: the stages wait for the first micro-batch to arrive and for the last gradient. Times are small
// integers, so their quotients are equal to the bit but for one rounding each.
TEST(Bubble, ofGPipeAndOneForwardOneBackwardIsStagesLessOneOverMicroBatches) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m : {int64_t(1), p, p + 1, 2 * p + 1, 8 * p})
      for (WorkTimes times : {equalHalves, threeEqualParts})
        for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward})
          EXPECT_DOUBLE_EQ(timelineOf(kind, p, 1, m, times).bubble(), double(p - 1) / double(m))
              << "p=" << p << " m=" << m;
}

TEST(Bubble, ofChunksIsDividedByTheirNumber) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t v = 2; v <= 3; ++v)
      for (int64_t groups : {1, 2, 3, 8})
        for (WorkTimes times : {equalHalves, threeEqualParts})
          for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward})
            EXPECT_DOUBLE_EQ(timelineOf(kind, p, v, groups * p, times).bubble(), double(p - 1) / double(v * groups * p))
                << "p=" << p << " v=" << v << " m=" << groups * p;
}

// GPipe fills the pipeline whatever the number of micro-batches, once there are as many as stages.
TEST(Bubble, ofGPipeWithChunksNeedsNoMultiples) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t v = 2; v <= 3; ++v)
      for (int64_t m = p; m <= 3 * p; ++m)
        EXPECT_DOUBLE_EQ(timelineOf(ScheduleKind::GPipe, p, v, m, equalHalves).bubble(), double(p - 1) / double(v * m));
}

// (p - 1) * (tF + tB - tW) over m * (tF + tB + tW), arXiv 2401.10241, with all three equal.
TEST(Bubble, ofZeroBubbleIsOneThirdOfOneForwardOneBackward) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = p; m <= 4 * p; ++m) {
      Timeline timeline = timelineOf(ScheduleKind::ZeroBubble, p, 1, m, threeEqualParts);
      EXPECT_EQ(timeline.makespan, 3 * m + (p - 1));
      EXPECT_DOUBLE_EQ(timeline.bubble(), double(p - 1) / double(3 * m));
    }
}

TEST(Bubble, ofZeroBubbleWithChunksIsDividedByTheirNumberToo) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t v = 2; v <= 3; ++v)
      for (int64_t m : {p, 2 * p, 8 * p})
        EXPECT_EQ(timelineOf(ScheduleKind::ZeroBubble, p, v, m, threeEqualParts).makespan, 3 * m * v + (p - 1));
}

TEST(Bubble, ofZeroBubbleIsAlwaysBelowThatOfOneForwardOneBackward) {
  for (const ScheduleCase &each : allCases()) {
    const PipelineShape &shape = each.shape;
    if (each.kind != ScheduleKind::ZeroBubble)
      continue;
    double split = timelineOf(each.kind, shape.stages, shape.chunks, shape.microBatches, threeEqualParts).bubble();
    double whole =
        timelineOf(ScheduleKind::OneForwardOneBackward, shape.stages, shape.chunks, shape.microBatches, threeEqualParts)
            .bubble();
    if (shape.stages == 1)
      EXPECT_EQ(split, whole) << each.toString(); // one stage never waits
    else
      EXPECT_LT(split, whole) << each.toString();
  }
}

TEST(Bubble, table) {
  std::printf("bubble: time waited over time worked, F = B = W; in brackets the closed form\n");
  std::printf("%3s %4s  %-17s %-17s %-17s %-17s %-17s\n", "pp", "m", "gpipe", "1f1b", "1f1b vpp=2", "zero-bubble",
              "zero-bubble vpp=2");
  for (int64_t p : {2, 4, 8})
    for (int64_t m : {p, 2 * p, 8 * p}) {
      auto cell = [&](ScheduleKind kind, int64_t v, double closed) {
        char text[32];
        double bubble = timelineOf(kind, p, v, m, threeEqualParts).bubble();
        EXPECT_DOUBLE_EQ(bubble, closed);
        std::snprintf(text, sizeof text, "%.4f (%.4f)", bubble, closed);
        return std::string(text);
      };
      double whole = double(p - 1) / double(m);
      std::printf(
          "%3d %4d  %-17s %-17s %-17s %-17s %-17s\n", int(p), int(m), cell(ScheduleKind::GPipe, 1, whole).c_str(),
          cell(ScheduleKind::OneForwardOneBackward, 1, whole).c_str(),
          cell(ScheduleKind::OneForwardOneBackward, 2, whole / 2).c_str(),
          cell(ScheduleKind::ZeroBubble, 1, whole / 3).c_str(), cell(ScheduleKind::ZeroBubble, 2, whole / 6).c_str());
    }
}

TEST(Simulation, seesAStageThatWaitsForItself) {
  PipelineShape shape{1, 2, 1};
  StageSchedule laterChunkFirst;
  // Chunk 1 before the chunk that feeds it.
  for (WorkKind kind : {WorkKind::Forward, WorkKind::Backward})
    for (int64_t chunk : {1, 0})
      laterChunkFirst.steady.push_back({kind, 0, chunk, 0});
  laterChunkFirst.slots = {1, 1};
  EXPECT_FALSE(simulate(shape, {laterChunkFirst}, {WorkTimes{}}).isComplete);
  EXPECT_NE(scheduleText("by hand", shape, {laterChunkFirst}, {}).find("wait for each other in a circle"),
            std::string::npos);
}

TEST(ScheduleText, wideChartsLoseTheirMiddle) {
  PipelineShape shape{2, 1, 64};
  auto schedules = makeSchedule(ScheduleKind::OneForwardOneBackward, shape);
  std::string text = scheduleText("1f1b", shape, schedules, {80, false});
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 110u) << text.substr(begin, end - begin); // the legend is the longest line
  EXPECT_NE(text.find("stage 0  F0 |F1  .   B0"), std::string::npos) << text;
  EXPECT_NE(text.find(" ...  "), std::string::npos);
  EXPECT_NE(text.find("B63\n"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(scheduleText("1f1b", shape, schedules, {80, true}).find("\033[34mF0\033[0m"), std::string::npos);
}

} // namespace
