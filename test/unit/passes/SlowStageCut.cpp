//===- SlowStageCut.cpp - cuts into stages, listed and costed one by one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/passes/SlowStageCut.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace tgpt;
using namespace tgpt::test;

void tgpt::test::eachCut(int64_t layers, int64_t stages,
                         const std::function<void(const std::vector<int64_t> &)> &visit) {
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

namespace {
/// What a run of parts holds at each moment: the parts before one that is at work are full, those behind it have either
/// not begun or gone through their backward.
struct SlowRun {
  int64_t kept = 0, mostKept = 0, waiting = 0, mostInBackward = 0, scratch = 0;
};
} // namespace

static SlowRun slowRun(const StageProblem &problem, const std::vector<int64_t> &run) {
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

/// What is held at each of the moments, micro-batch by micro-batch.
static int64_t slowMoments(const StageProblem &problem, int64_t rank, const std::vector<SlowRun> &runs) {
  int64_t most = 0;
  for (const HeldAtOnce &moment : problem.inFlight.moments[rank]) {
    int64_t bytes = 0;
    for (size_t chunk = 0; chunk < runs.size(); ++chunk) {
      const SlowRun &run = runs[chunk];
      // Where a backward holds more than what is there before it and behind it together, something comes on top of
      // both.
      int64_t top = std::max<int64_t>(run.mostKept - run.kept - run.waiting, 0);
      for (int64_t i = 0; i < moment[chunk].before; ++i)
        bytes += run.kept + top;
      for (int64_t i = 0; i < moment[chunk].within; ++i)
        bytes += run.mostKept + top;
      for (int64_t i = 0; i < moment[chunk].behind; ++i)
        bytes += run.waiting + top;
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// Slots, pages and leaves: of one chunk they take what a backward adds or frees, of several what is held at once.
static int64_t slowActivations(const StageProblem &problem, int64_t rank, const std::vector<SlowRun> &runs) {
  const MicroBatchesInFlight &inFlight = problem.inFlight;
  bool hasPages = !inFlight.pages.empty();
  if (runs.size() == 1) {
    int64_t fromBackward = inFlight.slots[rank] * runs[0].kept +
                           (hasPages ? inFlight.pages : inFlight.slots)[rank] * (runs[0].mostKept - runs[0].kept);
    if (inFlight.untilBackward.empty())
      return fromBackward;
    int64_t untilBackward =
        inFlight.slots[rank] * runs[0].waiting + inFlight.untilBackward[rank] * (runs[0].mostKept - runs[0].waiting);
    int64_t either = std::min(fromBackward, untilBackward), before = inFlight.untilBackward[rank] - 1;
    int64_t behind = inFlight.slots[rank] - 1 - before; // all but the one in its backward
    if (behind != inFlight.pages[rank] - 1)
      return either;
    return std::min(either, before * runs[0].kept + behind * runs[0].waiting + runs[0].mostKept);
  }
  if (!inFlight.moments.empty())
    return slowMoments(problem, rank, runs);
  int64_t bytes = 0;
  for (size_t chunk = 0; chunk < runs.size(); ++chunk)
    bytes += inFlight.slots[rank + static_cast<int64_t>(chunk) * problem.stages] * runs[chunk].mostKept;
  return bytes;
}

/// The parts of each virtual stage.
static std::vector<std::vector<int64_t>> runsOf(const std::vector<int64_t> &cut) {
  std::vector<std::vector<int64_t>> runs(cut.size());
  int64_t layer = 0;
  runs.front().push_back(0);
  for (size_t v = 0; v < cut.size(); ++v)
    for (int64_t i = 0; i < cut[v]; ++i)
      runs[v].push_back(++layer);
  runs.back().push_back(layer + 1);
  return runs;
}

/// What is shared is counted once a rank.
static void takeOffShared(const StageProblem &problem, const std::set<int64_t> &parts, RankCost &cost) {
  for (const SharedBytes &shared : problem.shared) {
    int64_t count = 0;
    for (int64_t i : parts)
      count += std::count(shared.parts.begin(), shared.parts.end(), i);
    if (count > 1)
      cost.state.add(shared.state, -(count - 1));
  }
}

RankCost tgpt::test::slowCost(const StageProblem &problem, const std::vector<int64_t> &cut, int64_t rank) {
  std::vector<std::vector<int64_t>> runs = runsOf(cut);
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
  takeOffShared(problem, partsOfRank, cost);
  cost.activationBytes = slowActivations(problem, rank, chunks);
  cost.scratchBytes = std::max(cost.scratchBytes, update - cost.activationBytes);
  return cost;
}

Judged tgpt::test::judge(const StageProblem &problem, const std::vector<int64_t> &cut) {
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

Judged tgpt::test::bestOfAll(const StageProblem &problem) {
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
