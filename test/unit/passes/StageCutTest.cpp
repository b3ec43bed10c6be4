//===- StageCutTest.cpp - cuts into stages against all cuts there are ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small problems with random costs: every cut is listed and costed by a slower, separate
// formula. The chosen cut must be the very one that is best by time, then stages without
// layers, then evenness, then layers on the first stages. Where there are more cuts than a
// search can look at, a cut that fits and is known beforehand must be found, or a better one.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/EqualLayers.h"
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

/// Problems of several chunks, with at most some thousands of cuts.
struct Chunked {
  int64_t count = 0, impossible = 0;
};

Chunked expectBestOfChunks(int rounds, bool isUniform, bool isLimited) {
  Chunked seen;
  for (int round = 0; round < rounds; ++round) {
    int64_t stages = draw(1, 4), chunks = draw(2, stages == 1 ? 4 : stages == 2 ? 3 : 2), layers = draw(0, 8);
    StageProblem problem = drawProblem(layers, stages, chunks, isUniform);
    if (isLimited)
      problem.limitBytes = drawLimit(problem);
    Judged best = bestOfAll(problem);
    StageCut chosen = chooseCut(problem);
    EXPECT_EQ(chosen.layers, best.cut) << "round " << round;
    EXPECT_EQ(chosen.greatestNanoseconds(), best.time);
    EXPECT_EQ(chosen.greatestBytes(), best.bytes);
    EXPECT_EQ(chosen.fits(problem), best.above == 0);
    EXPECT_TRUE(chosen.isProven);
    EXPECT_LE(leastNanoseconds(problem), best.time);
    if (isUniform && !isLimited) {
      EXPECT_EQ(leastNanoseconds(problem), best.time);
    }
    ++seen.count;
    seen.impossible += best.above > 0;
    if (testing::Test::HasFailure())
      break;
  }
  std::printf("chunks, %s layers, %s: %ld problems, %ld of them impossible\n", isUniform ? "equal" : "random",
              isLimited ? "a limit" : "no limit", long(seen.count), long(seen.impossible));
  return seen;
}

TEST(StageCutTest, chunksAreExactWithoutLimit) {
  EXPECT_EQ(expectBestOfChunks(300, /*isUniform=*/true, /*isLimited=*/false).count, 300);
  EXPECT_EQ(expectBestOfChunks(400, /*isUniform=*/false, /*isLimited=*/false).count, 400);
}

TEST(StageCutTest, chunksAreExactUnderALimit) {
  EXPECT_GT(expectBestOfChunks(1500, /*isUniform=*/false, /*isLimited=*/true).impossible, 50);
  EXPECT_GT(expectBestOfChunks(500, /*isUniform=*/true, /*isLimited=*/true).impossible, 10);
}

// Dealt out by numbers alone: as fast and as even as the best of all cuts, and none exactly where none fits.
TEST(StageCutTest, equalLayersAreDealtOutExactly) {
  int64_t impossible = 0;
  for (int round = 0; round < 500; ++round) {
    int64_t stages = draw(1, 4), chunks = draw(2, stages == 1 ? 4 : stages == 2 ? 3 : 2), layers = draw(1, 8);
    StageProblem problem = drawProblem(layers, stages, chunks, /*isUniform=*/true);
    if (draw(0, 1) == 0)
      problem.shared = {{{0, layers + 1}, {4, 3, 2}, 0}}; // a tied embedding, which both ends count
    for (int64_t end : {int64_t(0), layers + 1})
      problem.parts[end].state += {4, 3, 2};
    problem.limitBytes = drawLimit(problem);
    Judged best = bestOfAll(problem);
    std::optional<std::vector<int64_t>> found = cutEqualLayers(problem);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->empty(), best.above > 0) << "round " << round;
    impossible += found->empty();
    if (found->empty())
      continue;
    Judged judged = judge(problem, *found);
    ASSERT_EQ(judged.above, 0) << "round " << round;
    ASSERT_EQ(judged.time, best.time) << "round " << round;
    ASSERT_EQ(judged.empty, best.empty) << "round " << round;
    ASSERT_TRUE(judged.squares == best.squares) << "round " << round;
    ASSERT_EQ(judged.layerSquares, best.layerSquares) << "round " << round;
  }
  EXPECT_GT(impossible, 10);
}

// As fast as without room, and with 2% of it where a cut that is as fast leaves them.
TEST(StageCutTest, roomIsLeftWhereItCostsNoTime) {
  int64_t otherCut = 0, noRoom = 0;
  for (int round = 0; round < 500; ++round) {
    StageProblem problem = drawProblem(draw(1, 8), draw(1, 3), draw(1, 2));
    problem.limitBytes = drawLimit(problem);
    StageCut tight = chooseCut(problem), roomy = chooseCutWithRoom(problem);
    ASSERT_EQ(roomy.fits(problem), tight.fits(problem));
    ASSERT_EQ(roomy.greatestNanoseconds(), tight.greatestNanoseconds());
    if (!tight.fits(problem))
      continue;
    StageProblem smaller = problem;
    smaller.limitBytes -= problem.limitBytes / 50;
    Judged best = bestOfAll(smaller);
    bool hasRoom = best.above == 0 && best.time == tight.greatestNanoseconds();
    ASSERT_TRUE(roomy.fits(smaller) || !hasRoom) << "round " << round;
    otherCut += roomy.layers != tight.layers;
    noRoom += !hasRoom;
  }
  EXPECT_GT(otherCut, 5);
  EXPECT_GT(noRoom, 50);
}

// Too many cuts to look at: the limit is what some drawn cut needs, so there is one that fits.
TEST(StageCutTest, tightLimitsOfLargeProblems) {
  int64_t found = 0, proven = 0, ofEqual = 0, noSlower = 0, count = 60;
  for (int round = 0; round < count; ++round) {
    int64_t stages = draw(3, 6), chunks = draw(2, 4), layers = draw(16, 40);
    bool isUniform = draw(0, 1) == 0;
    StageProblem problem = drawProblem(layers, stages, chunks, isUniform);
    Judged hidden{};
    for (int attempt = 0; attempt < 200; ++attempt) { // the one with the least bytes of many
      std::vector<int64_t> cut(stages * chunks, layers / (stages * chunks));
      cut.back() += layers % (stages * chunks);
      for (int64_t moves = draw(0, 2 * layers); moves > 0; --moves)
        if (int64_t &from = cut[draw(0, stages * chunks - 1)]; from > 0)
          --from, ++cut[draw(0, stages * chunks - 1)];
      Judged judged = judge(problem, cut);
      if (hidden.cut.empty() || judged.bytes < hidden.bytes)
        hidden = judged;
    }
    problem.limitBytes = hidden.bytes;
    StageCut chosen = chooseCut(problem);
    EXPECT_TRUE(chosen.fits(problem)) << "round " << round;
    found += chosen.fits(problem);
    proven += chosen.isProven;
    ofEqual += isUniform;
    EXPECT_TRUE(chosen.isProven || !isUniform) << "round " << round;
    noSlower += chosen.greatestNanoseconds() <= hidden.time;
  }
  std::printf(
      "%ld large problems under a tight limit: %ld found, %ld proven to be the fastest, %ld have equal layers\n",
      long(count), long(found), long(proven), long(ofEqual));
  EXPECT_EQ(noSlower, count);
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
  problem.inFlight = {{4, 4, 3, 3}, {}, {}, {{{{4}, {2}, {1}, {0}}, {{1}, {1}, {2}, {3}}}}};
  problem.limitBytes = 140;
  StageCut cut = chooseCut(problem);
  EXPECT_TRUE(cut.fits(problem));
  EXPECT_EQ(cut.layers, (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(cut.greatestBytes(), 7 * 20);
  problem.inFlight.moments.clear();
  EXPECT_FALSE(chooseCut(problem).fits(problem));
}

// While weight gradients wait, of 16 that a micro-batch holds in its backward 6 are there until then and 4 from then
// on.
TEST(StageCutTest, whatIsHeldAtOnceIsCounted) {
  StageProblem problem = modelOf(2, 1, 10, 0, 0);
  for (int64_t layer : {1, 2}) {
    PartCost &part = problem.parts[layer];
    part.activationBytes = 12;
    part.waitingBytes = 10;
    part.growthBytes = part.backwardBytes = 4;
  }
  problem.chunks = 2;
  problem.inFlight = {{4, 4}, {}, {}, {}};
  EXPECT_EQ(cutByHand(problem, {1, 1}).greatestBytes(), 8 * 16);
  problem.inFlight.moments = {{{{3, 1, 0}, {1, 0, 2}}, {{0, 0, 4}, {0, 1, 3}}}};
  EXPECT_EQ(cutByHand(problem, {1, 1}).greatestBytes(), 16 + 7 * 10);
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
