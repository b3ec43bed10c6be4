//===- PipelineTimeTest.cpp - schedules against their published bubbles ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/PipelineTime.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

StageSeconds equalStages(double forward, double input, double weight) {
  PassSeconds pass{forward, input, weight};
  return {pass, pass, pass};
}

Execution pipeline(Schedule schedule, double pp, double microBatches, double chunks = 1) {
  Execution run;
  run.schedule = schedule;
  run.pp = pp;
  run.microBatches = microBatches;
  run.chunks = chunks;
  return run;
}

TEST(PipelineTimeTest, equalStagesWaitPMinus1OfMPlusPMinus1) {
  StageSeconds stages = equalStages(1, 1, 1);
  for (Schedule schedule : {Schedule::GPipe, Schedule::OneF1B})
    for (double pp : {2., 4., 8.})
      for (double m : {1., 4., 32.})
        EXPECT_NEAR(bubbleFraction(stages, pipeline(schedule, pp, m)), (pp - 1) / (m + pp - 1), 1e-12);
}

TEST(PipelineTimeTest, chunksDivideTheBubble) {
  // arXiv 2104.04473, section 2.2: (p - 1) / (v m) of the ideal time.
  StageSeconds stages = equalStages(1, 1, 1);
  double seconds = pipelineSeconds(stages, pipeline(Schedule::Interleaved, 8, 64, 3));
  EXPECT_NEAR(seconds / (64 * 3) - 1, 7. / (3 * 64), 1e-12);
}

TEST(PipelineTimeTest, chunksHideNothingFromFewerMicroBatchesThanStages) {
  StageSeconds stages = equalStages(1, 1, 1);
  // One micro-batch goes through all stages, one after the other, whatever they are cut into.
  EXPECT_NEAR(pipelineSeconds(stages, pipeline(Schedule::Interleaved, 4, 1, 16)), 4 * 3, 1e-12);
  EXPECT_NEAR(pipelineSeconds(stages, pipeline(Schedule::Interleaved, 4, 3, 2)), 4 * 3 + 2 * 3 / 2., 1e-12);
  // As many as stages: both forms agree.
  EXPECT_NEAR(pipelineSeconds(stages, pipeline(Schedule::Interleaved, 4, 4, 2)), 4 * 3 + 3 * 3 / 2., 1e-12);
}

TEST(PipelineTimeTest, zeroBubbleFillsWithWeightGradients) {
  // arXiv 2401.10241, table 1: (p - 1) (F + B - W) and (p - 1) (F + B - 2 W).
  StageSeconds stages = equalStages(3, 3, 2);
  EXPECT_DOUBLE_EQ(pipelineSeconds(stages, pipeline(Schedule::ZeroBubbleH1, 4, 16)), 16 * 8 + 3 * 4);
  EXPECT_DOUBLE_EQ(pipelineSeconds(stages, pipeline(Schedule::ZeroBubbleH2, 4, 16)), 16 * 8 + 3 * 2);
}

TEST(PipelineTimeTest, aFewMicroBatchesStillGoThereAndBack) {
  StageSeconds stages = equalStages(3, 3, 2);
  for (Schedule schedule : {Schedule::ZeroBubbleH1, Schedule::ZeroBubbleH2})
    EXPECT_DOUBLE_EQ(pipelineSeconds(stages, pipeline(schedule, 8, 1)), 8 * 6 + 2);
}

TEST(PipelineTimeTest, zeroBubbleRatesOfTables5And6) {
  // arXiv 2401.10241: stage times in ms and the rate its authors compute, which counts sends. Here every
  // micro-batch pays for its sends, as in stepSeconds; their simulation hides some: hence the tolerance, 2 T_comm m of
  // the whole.
  struct Row {
    double pp, m, forward, input, weight, send, oneF1B, h1;
  };
  for (const Row &row : {Row{8, 64, 18.546, 18.097, 9.321, 0.762, 0.124, 0.0674},
                         Row{8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554},
                         Row{16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576},
                         Row{32, 256, 10.402, 10.248, 7.698, 0.46, 0.1352, 0.0594}}) {
    StageSeconds stages = equalStages(row.forward + row.send, row.input + row.send, row.weight);
    double ideal = row.m * (row.forward + row.input + row.weight);
    double oneF1B = 1 - ideal / pipelineSeconds(stages, pipeline(Schedule::OneF1B, row.pp, row.m));
    double h1 = 1 - ideal / pipelineSeconds(stages, pipeline(Schedule::ZeroBubbleH1, row.pp, row.m));
    EXPECT_NEAR(oneF1B, row.oneF1B, 0.025);
    EXPECT_NEAR(h1, row.h1, 0.035);
  }
}

TEST(PipelineTimeTest, theLongestStageSetsTheRhythm) {
  StageSeconds stages{{1, 1, 1}, {2, 2, 2}, {4, 4, 4}};
  // One micro-batch through all four stages, then one every 12 seconds.
  EXPECT_DOUBLE_EQ(pipelineSeconds(stages, pipeline(Schedule::OneF1B, 4, 10)), 3 + 2 * 6 + 12 + 9 * 12);
  EXPECT_DOUBLE_EQ(pipelineSeconds(stages, pipeline(Schedule::OneF1B, 1, 10)), 30);
}

} // namespace
