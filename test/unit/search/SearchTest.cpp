//===- SearchTest.cpp - the search against every candidate on its own ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other side is written without the search: loops over all integers, the rules spelled
// out, each candidate evaluated from nothing.
//
//===----------------------------------------------------------------------===//

#include "SearchFixture.h"
#include "compiler/search/Explanation.h"
#include "passes/pipeline/MicroBatchesInFlight.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

using namespace tgpt;
using namespace tgpt::search;

namespace {

struct BruteForce {
  int64_t legal = 0, misfits = 0;
  std::optional<Scored> best, acrossNodes, closest;
  std::map<std::pair<int64_t, int64_t>, Scored> bestOfGrid;
};

/// Whether another numbering with an earlier place in the list puts the same ranks next to each other.
bool repeatsAnOrder(const Candidate &candidate) {
  auto strides = [](const Candidate &c) {
    cost::Execution run = executionOf(c, cost::OperandType::Bits16, 2);
    return std::array{c.tp > 1 ? run.strideOf(tensorAxis) : 0, c.dp > 1 ? run.strideOf(dataAxis) : 0,
                      c.pp > 1 ? run.stageDistance() : 0};
  };
  for (const NamedRankOrder &named : rankOrders) {
    Candidate other = candidate;
    other.order = named.order;
    if (named.order == candidate.order)
      return false;
    if (strides(other) == strides(candidate))
      return true;
  }
  return false;
}

bool isNodeGroup(const Problem &problem, const Candidate &candidate) {
  if (candidate.zeroGroup == 0)
    return true;
  if (candidate.zero == 0 || candidate.zeroGroup < 2 || candidate.dp % candidate.zeroGroup != 0 ||
      candidate.zeroGroup >= candidate.dp)
    return false;
  for (const NamedRankOrder &named : rankOrders) { // those of a node under some order
    Candidate other = candidate;
    other.order = named.order;
    double stride = executionOf(other, cost::OperandType::Bits16, 2).strideOf(dataAxis);
    if (static_cast<double>(candidate.zeroGroup) * stride == problem.machine.topology.ranksPerNode)
      return true;
  }
  return false;
}

bool isInSpace(const Problem &problem, const Candidate &c) {
  if (c.gpus() != problem.gpus || c.dp * c.microBatchSamples * c.microBatches != problem.globalBatch)
    return false;
  bool hasHeads = 12 % c.tp == 0 && (4 % c.tp == 0 || c.tp % 4 == 0) && 3072 % c.tp == 0;
  bool hasSequence = !c.sp || (c.tp > 1 && 512 % c.tp == 0);
  bool hasEqualChunks = c.vpp == 1 || 6 % (c.pp * c.vpp) == 0 || 7 % (c.pp * c.vpp) == 0 || 8 % (c.pp * c.vpp) == 0;
  bool hasStages = hasEqualChunks && c.pp * c.vpp <= 6 &&
                   (c.pp > 1 || (c.vpp == 1 && c.schedule == PipelineOrder::OneF1B)) &&
                   (c.vpp == 1 || c.schedule == PipelineOrder::OneF1B);
  bool hasPieces = (c.dp > 1 || c.zero == 0) && (c.overlap || c.zero == 3) && isNodeGroup(problem, c);
  return hasHeads && hasSequence && hasStages && hasPieces && !repeatsAnOrder(c);
}

void visit(const Problem &problem, const Candidate &candidate, BruteForce &all) {
  if (!isInSpace(problem, candidate))
    return;
  ++all.legal;
  Scored scored = evaluate(problem, candidate);
  if (scored.bytes > problem.memoryBytes) {
    ++all.misfits;
    if (!all.closest || scored.bytes < all.closest->bytes)
      all.closest = scored;
    return;
  }
  auto keep = [&](std::optional<Scored> &best) {
    if (!best || scored.isBetterThan(*best))
      best = scored;
  };
  keep(all.best);
  if (candidate.tp > 4) // GPUs of a node
    keep(all.acrossNodes);
  auto [entry, isFirst] = all.bestOfGrid.try_emplace({candidate.tp, candidate.pp}, scored);
  if (!isFirst && scored.isBetterThan(entry->second))
    entry->second = scored;
}

BruteForce everyCandidate(const Problem &problem) {
  BruteForce all;
  Candidate c;
  for (c.tp = 1; c.tp <= problem.gpus; ++c.tp)
    for (c.pp = 1; c.tp * c.pp <= problem.gpus; ++c.pp)
      for (c.vpp = 1; c.vpp <= 6; ++c.vpp)
        for (c.microBatchSamples = 1; c.microBatchSamples <= problem.globalBatch; ++c.microBatchSamples)
          for (c.zero = 0; c.zero <= 3; ++c.zero)
            for (c.zeroGroup = 0; c.zeroGroup <= problem.gpus; ++c.zeroGroup) {
              c.dp = problem.gpus / (c.tp * c.pp);
              c.microBatches = problem.globalBatch / c.dp / c.microBatchSamples;
              for (int choices = 0; choices < 4; ++choices)
                for (int schedule = 0; schedule < 3; ++schedule)
                  for (cost::Recompute mode : recomputeModes)
                    for (const NamedRankOrder &named : rankOrders) {
                      c.sp = choices & 1;
                      c.overlap = choices & 2;
                      c.schedule = static_cast<PipelineOrder>(schedule);
                      c.recompute = mode;
                      c.order = named.order;
                      visit(problem, c, all);
                    }
            }
  return all;
}

struct Case {
  int64_t gpus, batch;
  double memoryBytes;
};

class BruteForceTest : public testing::TestWithParam<Case> {};

TEST_P(BruteForceTest, findsWhatTryingEverythingFinds) {
  Problem problem = smallProblem(GetParam().gpus, GetParam().batch);
  problem.memoryBytes = GetParam().memoryBytes;
  BruteForce all = everyCandidate(problem);
  SearchResult found = search::search(problem);
  EXPECT_EQ(found.evaluated, all.legal - all.misfits);
  EXPECT_EQ(found.refused[static_cast<std::size_t>(Refusal::Memory)], all.misfits);
  int64_t refused = 0;
  for (int64_t count : found.refused)
    refused += count;
  EXPECT_EQ(found.candidates, found.evaluated + refused);

  ASSERT_EQ(found.ranked.empty(), !all.best);
  if (all.best) {
    EXPECT_EQ(found.ranked.front().seconds, all.best->seconds);
    EXPECT_EQ(found.ranked.front().bytes, all.best->bytes);
  }
  std::vector<Scored> grids = found.bestOfGrids();
  ASSERT_EQ(grids.size(), all.bestOfGrid.size());
  for (const Scored &scored : grids) {
    const Scored &best = all.bestOfGrid.at({scored.candidate.tp, scored.candidate.pp});
    EXPECT_EQ(scored.seconds, best.seconds) << shortText(scored.candidate) << " and " << shortText(best.candidate);
    EXPECT_EQ(scored.bytes, best.bytes);
  }
  EXPECT_EQ(found.best[1].has_value(), all.acrossNodes.has_value());
  EXPECT_EQ(found.best[1] ? found.best[1]->seconds : 0, all.acrossNodes ? all.acrossNodes->seconds : 0);
  EXPECT_EQ(found.closest ? found.closest->bytes : 0, all.closest ? all.closest->bytes : 0);
}

INSTANTIATE_TEST_SUITE_P(Problems, BruteForceTest,
                         testing::Values(Case{1, 4, 4e9}, Case{8, 16, 1e9}, Case{12, 24, 6e8}, Case{24, 48, 3e8},
                                         Case{24, 24, 1e12}, Case{16, 12, 8e8}, Case{8, 16, 1e8}, Case{7, 14, 1e9}));

TEST(SearchTest, rankedPlansDoNotBeatEachOther) {
  SearchResult found = search::search(smallProblem(24, 48));
  std::vector<Scored> grids = found.bestOfGrids();
  for (std::size_t i = 0; i < found.ranked.size(); ++i)
    for (std::size_t j = i + 1; j < found.ranked.size(); ++j) {
      const Scored &first = found.ranked[i], &second = found.ranked[j];
      EXPECT_LE(first.seconds, second.seconds);
      bool isSameGrid = first.candidate.tp == second.candidate.tp && first.candidate.pp == second.candidate.pp;
      EXPECT_TRUE(!isSameGrid || second.bytes < first.bytes);
    }
}

TEST(SearchTest, moreMemoryIsNeverSlower) {
  Problem problem = smallProblem(24, 48);
  double before = 1e9;
  for (double bytes = 5e7; bytes < 4e9; bytes *= 1.3) {
    problem.memoryBytes = bytes;
    SearchResult found = search::search(problem);
    double seconds = found.ranked.empty() ? 1e9 : found.ranked.front().seconds;
    EXPECT_LE(seconds, before) << bytes;
    before = seconds;
  }
  EXPECT_LT(before, 1e9);
}

TEST(SearchTest, fasterLinksAreNeverSlower) {
  Problem problem = smallProblem(24, 48);
  double before = 1e9;
  for (double rate : {1e9, 1e10, 5e10, 1e11}) {
    problem.machine.topology = nodesOf(4, rate);
    setBlocking(problem);
    double seconds = search::search(problem).ranked.front().seconds;
    EXPECT_LE(seconds, before);
    before = seconds;
  }
}

TEST(SearchTest, moreGpusPerNodeAreNeverWorse) {
  Problem problem = smallProblem(24, 48);
  // A card for each rank, so that nodes differ in what their own links join.
  double before = 1e9;
  for (double ranks : {1, 2, 4, 8, 24}) {
    problem.machine.topology = nodesOf(ranks);
    setBlocking(problem);
    double seconds = search::search(problem).ranked.front().seconds;
    EXPECT_LE(seconds, before * (1 + 1e-12)) << ranks;
    before = seconds;
  }
}

TEST(SearchTest, pinsHold) {
  Problem problem = smallProblem(24, 48);
  problem.pins = parsePins("tp=4,zero=1,recompute=full,rank-order=tp,dp,pp,overlap=off,micro-batch-samples=2");
  SearchResult found = search::search(problem);
  ASSERT_FALSE(found.ranked.empty());
  for (const Scored &scored : found.ranked) {
    EXPECT_EQ(scored.candidate.tp, 4);
    EXPECT_EQ(scored.candidate.zero, scored.candidate.dp > 1 ? 1 : 0);
    EXPECT_EQ(scored.candidate.recompute, cost::Recompute::Full);
    EXPECT_FALSE(scored.candidate.overlap);
    EXPECT_EQ(scored.candidate.microBatchSamples, 2);
    EXPECT_STREQ(nameOf(scored.candidate.order), "tp,dp,pp");
  }
  // The best of the free search is the best under the pins that name it.
  problem.pins = {};
  Scored best = search::search(problem).ranked.front();
  problem.pins.tp = best.candidate.tp;
  problem.pins.vpp = best.candidate.vpp;
  problem.pins.recompute = best.candidate.recompute;
  EXPECT_EQ(search::search(problem).ranked.front().candidate, best.candidate);
}

TEST(SearchTest, differencesAddUp) {
  Problem problem = smallProblem(24, 48);
  std::vector<Scored> grids = search::search(problem).bestOfGrids();
  for (const Scored &scored : grids) {
    Difference difference = differenceOf(problem, scored, grids.front());
    double sum = 0;
    for (const TimePart &part : difference.parts)
      sum += part.seconds;
    EXPECT_NEAR(sum, difference.seconds, 1e-9);
    EXPECT_GE(difference.seconds, 0);
  }
}

/// Against the schedules that tgpt-opt makes.
TEST(SearchTest, knowsHowManyMicroBatchesAStageHolds) {
  int64_t cases = 0;
  for (int64_t pp : {2, 3, 4, 8})
    for (int64_t vpp : {1, 2, 3, 4})
      for (int64_t groups : {1, 2, 3, 6})
        for (PipelineOrder order : {PipelineOrder::OneF1B, PipelineOrder::GPipe, PipelineOrder::ZeroBubble}) {
          if (vpp > 1 && order != PipelineOrder::OneF1B)
            continue;
          Candidate candidate;
          candidate.pp = pp;
          candidate.vpp = vpp;
          candidate.microBatches = groups * pp;
          candidate.schedule = order;
          ScheduleKind kind = *parseScheduleKind(pipelineOrderNames[static_cast<std::size_t>(order)]);
          MicroBatchesInFlight inFlight = countInFlight(kind, pp, vpp, groups * pp);
          cost::HeldMicroBatches held = heldBy(candidate, 2 * pp * vpp);
          // Chunks of as many layers: all in flight have a page, and there are no slots.
          auto slots = [&](int64_t stage) {
            return static_cast<double>(vpp > 1 ? inFlight.pages[stage] : inFlight.slots[stage]) /
                   static_cast<double>(vpp);
          };
          // With chunks, other groups of micro-batches may be faster and hold a little less; zero-bubble may hold as
          // much as the first stage everywhere.
          double least = vpp > 1 || order == PipelineOrder::ZeroBubble ? 0.9 : 1;
          EXPECT_LE(slots(0), held.first.kept) << pp << " " << vpp << " " << groups;
          EXPECT_GE(slots(0), least * held.first.kept) << pp << " " << vpp << " " << groups;
          EXPECT_LE(slots(pp - 1), held.last.kept) << pp << " " << vpp << " " << groups;
          EXPECT_TRUE(order == PipelineOrder::ZeroBubble || slots(pp - 1) >= least * held.last.kept)
              << pp << " " << vpp;
          if (order == PipelineOrder::ZeroBubble) {
            EXPECT_EQ(static_cast<double>(inFlight.pages[0]), held.first.waiting) << pp << " " << groups;
            EXPECT_EQ(static_cast<double>(inFlight.pages[1]), held.second.waiting) << pp << " " << groups;
            EXPECT_EQ(static_cast<double>(inFlight.pages[pp - 1]), held.last.waiting) << pp << " " << groups;
          }
          ++cases;
        }
  EXPECT_EQ(cases, 4 * 4 * 6);
}

/// Seconds are printed, not judged: machines differ.
TEST(SearchTest, searchesAllPlansOfAVeryLargeModel) {
  Problem problem = smallProblem(16384, 2048);
  problem.shape = llama405b();
  problem.machine.topology = nodesOf(8);
  setBlocking(problem);
  problem.memoryBytes = 78e9;
  SearchResult found = search::search(problem);
  ASSERT_FALSE(found.ranked.empty());
  std::printf("llama3-405b on 16384 GPUs: %lld candidates in %.3f s, %.0f a second; %lld fit\n",
              static_cast<long long>(found.candidates), found.searchSeconds,
              static_cast<double>(found.candidates) / found.searchSeconds, static_cast<long long>(found.evaluated));
  EXPECT_LE(found.ranked.front().bytes, problem.memoryBytes);
  EXPECT_EQ(evaluate(problem, found.ranked.front().candidate).seconds, found.ranked.front().seconds);
}

} // namespace
