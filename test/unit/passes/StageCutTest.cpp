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
#include <algorithm>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

using namespace tgpt;

namespace {

std::mt19937_64 generator(20260);

int64_t draw(int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(generator);
}

PartCost drawPart(int64_t most) {
  PartCost part;
  part.forwardNanoseconds = draw(0, most);
  part.backwardNanoseconds = draw(0, 3) == 0 ? 0 : draw(1, 2 * most);
  part.state = {draw(0, 20), draw(0, 20), draw(0, 60)};
  part.activationBytes = draw(0, 30);
  part.waitingBytes = draw(0, 2) == 0 ? 0 : draw(0, 40);
  part.growthBytes = std::max<int64_t>(part.waitingBytes - part.activationBytes, 0) + draw(0, 1) * draw(0, 20);
  part.scratchBytes = draw(0, 40);
  part.backwardBytes = part.growthBytes + draw(0, 40);
  part.updateBytes = draw(0, 40);
  return part;
}

/// Something that two or more parts of the problem share, no larger than what each of them counts.
SharedBytes drawShared(StageProblem &problem) {
  std::set<int64_t> parts;
  while (parts.size() < 2 || draw(0, 2) == 0)
    parts.insert(draw(0, static_cast<int64_t>(problem.parts.size()) - 1));
  SharedBytes shared = {{parts.begin(), parts.end()}, {draw(0, 9), draw(0, 9), draw(0, 9)}, draw(0, 9)};
  for (int64_t part : parts) { // so that they count it
    problem.parts[part].state += shared.state;
    problem.parts[part].activationBytes += shared.activationBytes;
    problem.parts[part].waitingBytes += shared.activationBytes;
  }
  return shared;
}

StageProblem drawProblem(int64_t layers, int64_t stages, int64_t chunks, bool isUniform = false) {
  StageProblem problem;
  bool hasPages = draw(0, 2) > 0, hasBoth = draw(0, 1) > 0;
  problem.stages = stages;
  problem.chunks = chunks;
  PartCost layer = drawPart(100);
  for (int64_t i = 0; i < layers + 2; ++i) {
    bool isLayer = i > 0 && i < layers + 1;
    problem.parts.push_back(isLayer && isUniform ? layer : drawPart(isLayer ? 100 : draw(1, 300)));
  }
  for (int64_t count = draw(0, 3); !isUniform && count > 0; --count)
    problem.shared.push_back(drawShared(problem));
  problem.messageBytes = draw(0, 10);
  for (int64_t v = 0; v < stages * chunks; ++v)
    problem.inFlight.slots.push_back(draw(1, 6));
  for (int64_t stage = 0; stage < stages && hasPages; ++stage) {
    int64_t most = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      most += problem.inFlight.slots[chunk * stages + stage];
    problem.inFlight.pages.push_back(draw(1, most));
    if (chunks == 1 && hasBoth)
      problem.inFlight.untilBackward.push_back(draw(1, most));
  }
  return problem;
}

/// Every way to cut the layers, without layers on some stages too.
void eachCut(int64_t layers, int64_t stages, const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> cut(stages);
  std::function<void(int64_t, int64_t)> fill = [&](int64_t stage, int64_t left) {
    if (stage == stages - 1) {
      cut[stage] = left;
      return visit(cut);
    }
    for (cut[stage] = 0; cut[stage] <= left; ++cut[stage])
      fill(stage + 1, left - cut[stage]);
  };
  fill(0, layers);
}

/// What a run of parts holds at each moment: the parts before one that is at work are full, those behind it have either
/// not begun or gone through their backward.
struct SlowRun {
  int64_t kept = 0, mostKept = 0, waiting = 0, mostInBackward = 0, scratch = 0;
};

SlowRun slowRun(const StageProblem &problem, const std::vector<int64_t> &run) {
  SlowRun slow;
  auto sum = [&](size_t from, size_t to, int64_t PartCost::*bytes) {
    int64_t all = 0;
    for (size_t i = from; i < to; ++i)
      all += problem.parts[run[i]].*bytes;
    return all;
  };
  int64_t twice = 0;
  for (const SharedBytes &shared : problem.shared) {
    int64_t count = 0;
    for (int64_t i : run)
      count += std::count(shared.parts.begin(), shared.parts.end(), i);
    twice += count > 1 ? (count - 1) * shared.activationBytes : 0;
  }
  slow.kept = slow.mostKept = sum(0, run.size(), &PartCost::activationBytes) - twice;
  slow.waiting = sum(0, run.size(), &PartCost::waitingBytes) - twice;
  slow.mostInBackward = INT64_MIN;
  for (size_t at = 0; at < run.size(); ++at) {
    const PartCost &part = problem.parts[run[at]];
    int64_t others =
        sum(0, at + 1, &PartCost::activationBytes) + sum(at + 1, run.size(), &PartCost::waitingBytes) - twice;
    slow.mostKept = std::max(slow.mostKept, others + part.growthBytes);
    slow.mostInBackward = std::max(slow.mostInBackward, others + part.backwardBytes);
    slow.scratch = std::max(slow.scratch, part.scratchBytes);
  }
  if (run.empty())
    slow.mostInBackward = 0;
  return slow;
}

/// Slots and pages: of one chunk pages take what a backward adds, of several the size is tried out.
int64_t slowActivations(const StageProblem &problem, int64_t rank, const std::vector<SlowRun> &runs) {
  const MicroBatchesInFlight &inFlight = problem.inFlight;
  bool hasPages = !inFlight.pages.empty();
  if (runs.size() == 1) {
    int64_t fromBackward = inFlight.slots[rank] * runs[0].kept +
                           (hasPages ? inFlight.pages : inFlight.slots)[rank] * (runs[0].mostKept - runs[0].kept);
    if (inFlight.untilBackward.empty())
      return fromBackward;
    int64_t untilBackward =
        inFlight.slots[rank] * runs[0].waiting + inFlight.untilBackward[rank] * (runs[0].mostKept - runs[0].waiting);
    return std::min(fromBackward, untilBackward);
  }
  int64_t best = INT64_MAX, largest = 0;
  for (const SlowRun &run : runs)
    largest = std::max(largest, run.mostKept);
  for (int64_t page = 0; page <= (hasPages ? largest : 0); ++page) {
    int64_t bytes = hasPages ? inFlight.pages[rank] * page : 0;
    for (size_t chunk = 0; chunk < runs.size(); ++chunk)
      bytes += inFlight.slots[rank + static_cast<int64_t>(chunk) * problem.stages] *
               std::max<int64_t>(runs[chunk].mostKept - page, 0);
    best = std::min(best, bytes);
  }
  return best;
}

/// The cost of a rank, part by part and item by item.
RankCost slowCost(const StageProblem &problem, const std::vector<int64_t> &cut, int64_t rank) {
  std::vector<std::vector<int64_t>> runs(problem.virtualStages());
  int64_t layer = 0;
  runs.front().push_back(0);
  for (size_t v = 0; v < cut.size(); ++v)
    for (int64_t i = 0; i < cut[v]; ++i)
      runs[v].push_back(++layer);
  runs.back().push_back(layer + 1);
  RankCost cost;
  int64_t update = 0;
  std::set<int64_t> partsOfRank;
  std::vector<SlowRun> chunks;
  for (int64_t v = rank; v < problem.virtualStages(); v += problem.stages) {
    for (int64_t i : runs[v]) {
      const PartCost &part = problem.parts[i];
      cost.forwardNanoseconds += part.forwardNanoseconds;
      cost.backwardNanoseconds += part.backwardNanoseconds;
      cost.state += part.state;
      update += part.updateBytes;
      partsOfRank.insert(i);
    }
    chunks.push_back(slowRun(problem, runs[v]));
    cost.scratchBytes =
        std::max({cost.scratchBytes, chunks.back().scratch, chunks.back().mostInBackward - chunks.back().mostKept});
    cost.messageBytes +=
        (v > 0 ? problem.messageBytes : 0) + (v + 1 < problem.virtualStages() ? problem.messageBytes : 0);
  }
  for (const SharedBytes &shared : problem.shared) {
    int64_t count = 0;
    for (int64_t i : partsOfRank)
      count += std::count(shared.parts.begin(), shared.parts.end(), i);
    if (count > 1)
      cost.state.add(shared.state, -(count - 1));
  }
  cost.activationBytes = slowActivations(problem, rank, chunks);
  cost.scratchBytes = std::max(cost.scratchBytes, update - cost.activationBytes);
  return cost;
}

struct Judged {
  std::vector<int64_t> cut;
  int64_t time = 0, bytes = 0, empty = 0, above = 0;
  __int128 squares = 0;
  int64_t layerSquares = 0;
};

Judged judge(const StageProblem &problem, const std::vector<int64_t> &cut) {
  Judged judged{cut};
  for (int64_t rank = 0; rank < problem.stages; ++rank) {
    RankCost cost = slowCost(problem, cut, rank);
    judged.time = std::max(judged.time, cost.nanoseconds());
    judged.bytes = std::max(judged.bytes, cost.bytes());
    judged.above += problem.limitBytes == 0 ? 0 : std::max<int64_t>(cost.bytes() - problem.limitBytes, 0);
    judged.squares += static_cast<__int128>(cost.nanoseconds()) * cost.nanoseconds();
  }
  for (int64_t layers : cut)
    judged.layerSquares += layers * layers;
  judged.empty = std::count(cut.begin(), cut.end(), 0);
  return judged;
}

/// The best of all cuts that fit; of those that come closest (by the greatest bytes) where none fits.
Judged bestOfAll(const StageProblem &problem) {
  std::vector<Judged> all;
  eachCut(problem.layers(), problem.virtualStages(),
          [&](const std::vector<int64_t> &cut) { all.push_back(judge(problem, cut)); });
  int64_t least = std::min_element(all.begin(), all.end(), [](auto &a, auto &b) { return a.bytes < b.bytes; })->bytes;
  int64_t limit = problem.limitBytes == 0 ? INT64_MAX : std::max(least, problem.limitBytes);
  std::erase_if(all, [&](const Judged &judged) { return judged.bytes > limit; });
  return *std::min_element(all.begin(), all.end(), [](const Judged &a, const Judged &b) {
    return std::tie(a.time, a.empty, a.squares, a.layerSquares, a.cut) <
           std::tie(b.time, b.empty, b.squares, b.layerSquares, b.cut);
  });
}

/// A limit at some of the bytes that cuts of the problem have; now and then below all of them.
int64_t drawLimit(const StageProblem &problem) {
  std::vector<int64_t> bytes;
  eachCut(problem.layers(), problem.virtualStages(),
          [&](const std::vector<int64_t> &cut) { bytes.push_back(judge(problem, cut).bytes); });
  std::sort(bytes.begin(), bytes.end());
  return draw(0, 9) == 0 ? std::max<int64_t>(bytes.front() - draw(1, 20), 1)
                         : bytes[draw(0, std::min<int64_t>(bytes.size() - 1, 1 + bytes.size() / 4))];
}

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
