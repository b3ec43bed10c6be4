//===- StageCut.cpp - where to cut a model into stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/EqualLayers.h"
#include "passes/pipeline/MoveLayers.h"
#include "passes/pipeline/SearchCuts.h"
#include "passes/pipeline/StageRanges.h"
#include <algorithm>
#include <compare>
#include <limits>
#include <optional>

using namespace tgpt;

static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
/// Bounds of the dynamic programming, which makes a cut even but not faster: table entries and steps.
static constexpr int64_t mostEntries = 1 << 24, mostSteps = 1 << 28;

int64_t StageCut::greatestNanoseconds() const {
  int64_t greatest = 0;
  for (const RankCost &rank : ranks)
    greatest = std::max(greatest, rank.nanoseconds());
  return greatest;
}

int64_t StageCut::fullestRank() const {
  auto less = [](const RankCost &a, const RankCost &b) { return a.bytes() < b.bytes(); };
  return std::max_element(ranks.begin(), ranks.end(), less) - ranks.begin();
}

StageCut tgpt::cutByHand(const StageProblem &problem, const std::vector<int64_t> &layers) {
  return {layers, costOfCut(problem, layers), false};
}

namespace {

/// One chunk a stage: exact.
class LineCut {
public:
  explicit LineCut(const StageProblem &problem) : problem(problem), ranges(problem) {}

  std::vector<int64_t> solve() {
    int64_t limit = problem.limitBytes == 0 ? unlimited : problem.limitBytes;
    if (!cover(unlimited, limit))
      limit = leastBytes();
    int64_t time = leastNanoseconds(limit);
    std::optional<std::vector<int64_t>> even = makeEven(time, limit);
    return even ? *even : *cover(time, limit);
  }

private:
  /// Layers of each stage when every stage takes all that it can; none where that does not cover the model.
  std::optional<std::vector<int64_t>> cover(int64_t nanoseconds, int64_t bytes) const {
    std::vector<int64_t> layers;
    int64_t first = 0;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      int64_t end = ranges.reach(stage, first, nanoseconds, bytes);
      if (end < 0)
        return std::nullopt;
      layers.push_back(end - first);
      first = end;
    }
    return layers;
  }

  template <typename Covers> static int64_t leastOf(int64_t low, int64_t high, Covers covers) {
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (covers(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  int64_t leastNanoseconds(int64_t bytes) const {
    return leastOf(problem.lowerBoundNanoseconds(), problem.totalNanoseconds(),
                   [&](int64_t nanoseconds) { return cover(nanoseconds, bytes).has_value(); });
  }

  int64_t leastBytes() const {
    return leastOf(0, unlimited - 1, [&](int64_t bytes) { return cover(unlimited, bytes).has_value(); });
  }

  /// What is minimised among the cuts within the bounds, the most important first.
  struct Unevenness {
    int64_t emptyStages = unlimited;
    __int128 squaresOfTimes = 0;
    int64_t squaresOfLayers = 0;

    auto operator<=>(const Unevenness &) const = default;
  };

  std::optional<std::vector<int64_t>> makeEven(int64_t nanoseconds, int64_t bytes) const;

  const StageProblem &problem;
  StageRanges ranges;
};

// best[first]: of the stages from `stage` on, which have the layers from `first` on. From the last stage to the first,
// so that of equal cuts the one with the fewest layers on the first stages can be taken.
std::optional<std::vector<int64_t>> LineCut::makeEven(int64_t nanoseconds, int64_t bytes) const {
  int64_t layers = problem.layers(), steps = 0;
  if (problem.stages * (layers + 1) > mostEntries)
    return std::nullopt;
  std::vector<std::vector<int32_t>> ends(problem.stages, std::vector<int32_t>(layers + 1, -1));
  std::vector<Unevenness> best(layers + 1), next(layers + 1);
  next[layers] = {0, 0, 0};
  for (int64_t stage = problem.stages - 1; stage >= 0; --stage) {
    for (int64_t first = 0; first <= layers; ++first) {
      best[first] = Unevenness();
      int64_t reach = ranges.reach(stage, first, nanoseconds, bytes);
      int64_t least = stage == problem.stages - 1 ? layers : first;
      if ((steps += std::max<int64_t>(reach - least, 0) + 1) > mostSteps)
        return std::nullopt;
      for (int64_t end = least; end <= reach; ++end) {
        if (next[end].emptyStages == unlimited)
          continue;
        __int128 time = ranges.nanoseconds(stage, first, end);
        int64_t count = end - first;
        Unevenness whole = {next[end].emptyStages + (count == 0), next[end].squaresOfTimes + time * time,
                            next[end].squaresOfLayers + count * count};
        if (whole < best[first]) {
          best[first] = whole;
          ends[stage][first] = static_cast<int32_t>(end);
        }
      }
    }
    std::swap(best, next);
  }
  std::vector<int64_t> cut;
  for (int64_t stage = 0, first = 0; stage < problem.stages; ++stage) {
    cut.push_back(ends[stage][first] - first);
    first = ends[stage][first];
  }
  return cut;
}

} // namespace

/// Each rank's layers in one run, without a limit.
static StageProblem withOneChunk(StageProblem problem) {
  problem.chunks = 1;
  problem.limitBytes = 0;
  problem.inFlight.slots.resize(problem.stages);
  problem.inFlight.pages.clear();
  problem.inFlight.untilBackward.clear();
  problem.inFlight.moments.clear();
  return problem;
}

int64_t tgpt::leastNanoseconds(const StageProblem &problem) {
  auto differs = [&](const PartCost &layer) { return layer.nanoseconds() != problem.parts[1].nanoseconds(); };
  if (problem.chunks > 1 && std::any_of(problem.parts.begin() + 1, problem.parts.end() - 1, differs))
    return problem.lowerBoundNanoseconds();
  StageProblem line = withOneChunk(problem);
  return cutByHand(line, LineCut(line).solve()).greatestNanoseconds();
}

/// As many stages of one chunk as there are virtual stages, with such a limit for each.
static std::vector<int64_t> cutRunsAlone(StageProblem problem, int64_t limitBytes) {
  problem.stages *= problem.chunks;
  problem.chunks = 1;
  problem.limitBytes = limitBytes;
  problem.inFlight.pages.clear();
  problem.inFlight.untilBackward.clear();
  problem.inFlight.moments.clear();
  return LineCut(problem).solve();
}

/// The ranks' numbers of layers as if each had one run, dealt out evenly over the chunks.
static std::vector<int64_t> cutRanksAlone(const StageProblem &problem) {
  StageProblem ranks = withOneChunk(problem);
  std::vector<int64_t> layers = LineCut(ranks).solve(), dealt(problem.virtualStages());
  for (int64_t v = 0; v < problem.virtualStages(); ++v) {
    int64_t chunk = v / problem.stages, ofRank = layers[v % problem.stages];
    dealt[v] = ofRank / problem.chunks + (chunk < ofRank % problem.chunks);
  }
  return dealt;
}

/// The best that moving layers from good starts finds.
static std::vector<int64_t> cutByMoves(const StageProblem &problem) {
  std::vector<std::vector<int64_t>> starts = {cutRunsAlone(problem, 0), cutRanksAlone(problem)};
  if (problem.limitBytes > 0)
    starts.push_back(cutRunsAlone(problem, std::max<int64_t>(problem.limitBytes / problem.chunks, 1)));
  return moveLayers(problem, starts);
}

StageCut tgpt::chooseCut(const StageProblem &problem) {
  if (problem.chunks == 1) {
    StageCut cut = cutByHand(problem, LineCut(problem).solve());
    cut.isProven = true;
    return cut;
  }
  std::optional<std::vector<int64_t>> ofEqualLayers = cutEqualLayers(problem);
  bool fits = ofEqualLayers && !ofEqualLayers->empty();
  SearchedCut searched =
      searchCuts(problem, fits ? *ofEqualLayers : cutByMoves(problem), /*isSettled=*/ofEqualLayers.has_value());
  StageCut cut = cutByHand(problem, searched.layers);
  cut.isProven = searched.isProven;
  return cut;
}

StageCut tgpt::chooseCutWithRoom(const StageProblem &problem) {
  StageCut cut = chooseCut(problem);
  if (problem.limitBytes == 0 || !cut.fits(problem))
    return cut;
  StageProblem roomy = problem;
  for (int64_t share : {50, 100, 200}) {
    roomy.limitBytes = problem.limitBytes - problem.limitBytes / share;
    if (cut.fits(roomy))
      return cut;
    StageCut other = chooseCut(roomy);
    if (other.fits(roomy) && other.greatestNanoseconds() <= cut.greatestNanoseconds()) {
      other.isProven = cut.isProven;
      return other;
    }
  }
  return cut;
}
