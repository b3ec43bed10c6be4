//===- StageCutTest.cpp - cuts into stages against all cuts there are ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small problems with random costs: every cut is listed and costed by a slower, separate
// formula. With one chunk the chosen cut must be the very one that is best by time, then
// stages without layers, then evenness, then layers on the first stages. With several
// chunks the test measures how far off the search is.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/StageRanges.h"
#include "test/unit/passes/DrawnStageProblem.h"
#include "test/unit/passes/SlowStageCut.h"
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <numeric>

using namespace tgpt;
using namespace tgpt::test;

namespace {

TEST(StageCutTest, costsAreThoseOfTheSlowFormula) {
  for (int round = 0; round < 500; ++round) {
    int64_t layers = draw(0, 9), stages = draw(1, 4), chunks = draw(1, 3);
    StageProblem problem = drawProblem(layers, stages, chunks);
    std::vector<int64_t> cut(stages * chunks);
    for (int64_t layer = 0; layer < layers; ++layer)
      ++cut[draw(0, stages * chunks - 1)];
    std::vector<RankCost> ranks = costOfCut(problem, cut);
    for (int64_t rank = 0; rank < stages; ++rank)
      ASSERT_TRUE(ranks[rank] == slowCost(problem, cut, rank)) << "round " << round << " rank " << rank;
    if (chunks > 1)
      continue;
    StageRanges ranges(problem);
    for (int64_t stage = 0, first = 0; stage < stages; first += cut[stage++]) {
      EXPECT_EQ(ranges.bytes(stage, first, first + cut[stage]), ranks[stage].bytes());
      EXPECT_EQ(ranges.nanoseconds(stage, first, first + cut[stage]), ranks[stage].nanoseconds());
    }
  }
}

TEST(StageCutTest, oneChunkIsExact) {
  int64_t limited = 0, impossible = 0;
  for (int round = 0; round < 3000; ++round) {
    int64_t layers = draw(0, 8), stages = draw(1, 5);
    StageProblem problem = drawProblem(layers, stages, 1, draw(0, 2) == 0);
    if (draw(0, 2) > 0)
      problem.limitBytes = drawLimit(problem);
    Judged best = bestOfAll(problem);
    StageCut chosen = chooseCut(problem);
    ASSERT_EQ(chosen.layers, best.cut) << "round " << round;
    ASSERT_EQ(chosen.greatestNanoseconds(), best.time);
    ASSERT_EQ(chosen.greatestBytes(), best.bytes);
    ASSERT_EQ(chosen.fits(problem), best.above == 0);
    ASSERT_GE(best.time, leastNanoseconds(problem));
    ASSERT_GE(leastNanoseconds(problem), problem.lowerBoundNanoseconds());
    if (problem.limitBytes == 0) {
      ASSERT_EQ(best.time, leastNanoseconds(problem));
    }
    limited += problem.limitBytes > 0;
    impossible += !chosen.fits(problem);
  }
  EXPECT_GT(limited, 1000);
  EXPECT_GT(impossible, 50);
}

/// Excess of the chosen cut's time over the best one's, as a share of it.
struct Gaps {
  int64_t count = 0, optimal = 0, notFound = 0;
  double sum = 0, worst = 0;
};

Gaps gapsOfChunks(bool isUniform, bool isLimited) {
  Gaps gaps;
  for (int round = 0; round < 400; ++round) {
    int64_t stages = draw(1, 3), chunks = draw(2, stages == 3 ? 2 : 3), layers = draw(0, 8);
    StageProblem problem = drawProblem(layers, stages, chunks, isUniform);
    if (isLimited)
      problem.limitBytes = drawLimit(problem);
    Judged best = bestOfAll(problem);
    StageCut chosen = chooseCut(problem);
    EXPECT_EQ(std::accumulate(chosen.layers.begin(), chosen.layers.end(), int64_t(0)), layers);
    if (best.above > 0)
      continue; // nothing fits
    ++gaps.count;
    if (!chosen.fits(problem)) {
      ++gaps.notFound;
      continue;
    }
    double gap = best.time == 0 ? 0 : double(chosen.greatestNanoseconds() - best.time) / double(best.time);
    EXPECT_LE(leastNanoseconds(problem), best.time);
    if (isUniform && !isLimited) {
      EXPECT_EQ(leastNanoseconds(problem), best.time);
    }
    gaps.optimal += gap == 0;
    gaps.sum += gap;
    gaps.worst = std::max(gaps.worst, gap);
  }
  std::printf("chunks, %s layers, %s: %ld problems, %ld at the optimum, mean %.2f%% and at most %.1f%% above it, "
              "%ld that fit not found\n",
              isUniform ? "equal" : "random", isLimited ? "a limit" : "no limit", long(gaps.count), long(gaps.optimal),
              100 * gaps.sum / double(gaps.count), 100 * gaps.worst, long(gaps.notFound));
  return gaps;
}

TEST(StageCutTest, chunksOfEqualLayersAreOptimalWithoutLimit) {
  EXPECT_EQ(gapsOfChunks(/*isUniform=*/true, /*isLimited=*/false).optimal, 400);
}

TEST(StageCutTest, chunksAreNearTheOptimum) {
  Gaps free = gapsOfChunks(/*isUniform=*/false, /*isLimited=*/false);
  EXPECT_LT(free.sum / double(free.count), 0.05);
  Gaps limited = gapsOfChunks(/*isUniform=*/false, /*isLimited=*/true);
  EXPECT_LT(limited.sum / double(limited.count), 0.05);
  EXPECT_LT(limited.notFound, 40);
  EXPECT_LT(gapsOfChunks(/*isUniform=*/true, /*isLimited=*/true).notFound, 40);
}

StageProblem modelOf(int64_t layers, int64_t stages, int64_t layerTime, int64_t firstTime, int64_t lastTime) {
  StageProblem problem;
  problem.parts.assign(layers + 2, PartCost());
  for (PartCost &part : problem.parts)
    part.forwardNanoseconds = layerTime;
  problem.parts.front().forwardNanoseconds = firstTime;
  problem.parts.back().forwardNanoseconds = lastTime;
  problem.stages = stages;
  problem.inFlight.slots.assign(stages, 1);
  return problem;
}

TEST(StageCutTest, aHeavyHeadGetsAStageOfItsOwn) {
  EXPECT_EQ(chooseCut(modelOf(9, 4, 10, 0, 40)).layers, (std::vector<int64_t>{3, 3, 3, 0}));
  EXPECT_EQ(chooseCut(modelOf(9, 4, 10, 0, 20)).layers, (std::vector<int64_t>{2, 3, 3, 1}));
}

TEST(StageCutTest, moreStagesThanLayers) {
  EXPECT_EQ(chooseCut(modelOf(2, 4, 10, 1, 30)).layers, (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(chooseCut(modelOf(0, 3, 10, 1, 1)).layers, (std::vector<int64_t>{0, 0, 0}));
}

// The in-flight micro-batches of the first stages leave room for fewer layers there.
TEST(StageCutTest, memoryMovesLayersBack) {
  StageProblem problem = modelOf(8, 4, 10, 0, 0);
  for (PartCost &part : problem.parts)
    part.activationBytes = 10;
  problem.parts.front().activationBytes = problem.parts.back().activationBytes = 0;
  problem.inFlight.slots = {4, 3, 2, 1};
  EXPECT_EQ(chooseCut(problem).layers, (std::vector<int64_t>{2, 2, 2, 2}));
  problem.limitBytes = 60;
  EXPECT_EQ(chooseCut(problem).layers, (std::vector<int64_t>{1, 2, 2, 3}));
  problem.limitBytes = 39;
  StageCut closest = chooseCut(problem);
  EXPECT_FALSE(closest.fits(problem));
  EXPECT_EQ(closest.greatestBytes(), 40);
}

// Four chunks of two layers are never full together: with room for the sum of their slots it would be half.
TEST(StageCutTest, pagesMakeRoom) {
  StageProblem problem = modelOf(8, 1, 10, 0, 0);
  for (PartCost &part : problem.parts)
    part.activationBytes = 10;
  problem.parts.front().activationBytes = problem.parts.back().activationBytes = 0;
  problem.chunks = 4;
  problem.inFlight = {{4, 4, 3, 3}, {7}, {}};
  problem.limitBytes = 140;
  StageCut cut = chooseCut(problem);
  EXPECT_TRUE(cut.fits(problem));
  EXPECT_EQ(cut.layers, (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(cut.greatestBytes(), 7 * 20);
  problem.inFlight.pages.clear();
  EXPECT_FALSE(chooseCut(problem).fits(problem));
}

// Within the time that a compile has, and still no worse than the bound allows.
TEST(StageCutTest, largeProblems) {
  StageProblem line = modelOf(4096, 1024, 1000, 300, 2500);
  EXPECT_EQ(chooseCut(line).greatestNanoseconds(), 5000);
  StageProblem chunked = modelOf(512, 64, 1000, 300, 2500);
  chunked.chunks = 4;
  chunked.inFlight.slots.assign(256, 1);
  EXPECT_EQ(chooseCut(chunked).greatestNanoseconds(), 9000);
}

} // namespace
