//===- EqualLayers.cpp - cuts of layers that all cost the same ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/EqualLayers.h"
#include "passes/pipeline/StageRanges.h"
#include <algorithm>
#include <limits>

using namespace tgpt;

/// Numbers of layers of the chunks of a rank that are looked at, of all ranks together.
static constexpr int64_t mostArrangements = 1 << 20;
/// Steps of the dynamic programming: a rank's number of layers, and that of the ranks before.
static constexpr int64_t mostDealt = 1 << 26;

static bool hasEqualLayers(const StageProblem &problem) {
  auto differs = [&](const PartCost &part) { return part != problem.parts[1]; };
  auto isOfLayers = [&](const SharedBytes &shared) {
    return std::any_of(shared.parts.begin(), shared.parts.end(),
                       [&](int64_t part) { return part > 0 && part <= problem.layers(); });
  };
  return problem.layers() > 0 && std::none_of(problem.parts.begin() + 1, problem.parts.end() - 1, differs) &&
         std::none_of(problem.shared.begin(), problem.shared.end(), isOfLayers);
}

namespace {

/// The layers of a rank's chunks, of all that fit with as many the best.
struct Arrangement {
  std::vector<int64_t> layers; ///< of each chunk; empty: none fits
  int64_t emptyRuns = 0, squaresOfRuns = 0;

  bool isBetterThan(const Arrangement &other) const {
    if (other.layers.empty() || emptyRuns != other.emptyRuns)
      return other.layers.empty() || emptyRuns < other.emptyRuns;
    return squaresOfRuns != other.squaresOfRuns ? squaresOfRuns < other.squaresOfRuns : layers < other.layers;
  }
};

/// What fits on one rank, by its number of layers.
class RankArrangements {
public:
  RankArrangements(const StageProblem &problem, const StageRanges &ranges, int64_t rank, int64_t &looked)
      : best(problem.layers() + 1), problem(problem), ranges(ranges), rank(rank), looked(looked), held(problem.chunks) {
    int64_t boundaries = 2 * problem.chunks - (rank == 0) - (rank == problem.stages - 1);
    fixedBytes = problem.messageBytes * boundaries;
    if (problem.stages == 1) // both ends of the model are here
      for (const SharedBytes &shared : problem.shared)
        fixedBytes -= shared.state.total();
    list(0, 0, fixedBytes, 0);
  }

  std::vector<Arrangement> best; ///< by layers

private:
  PartRange rangeOf(int64_t chunk, int64_t count) const {
    int64_t run = chunk * problem.stages + rank, last = problem.layers();
    return run == problem.virtualStages() - 1 ? partsOf(problem, run, last - count, last)
                                              : partsOf(problem, run, 0, count);
  }
  /// `bytes` and `update`: states and messages, and what the update needs, of the chunks so far.
  void list(int64_t chunk, int64_t layers, int64_t bytes, int64_t update);

  const StageProblem &problem;
  const StageRanges &ranges;
  int64_t rank;
  int64_t &looked;
  std::vector<RunBytes> held; ///< of the chunks so far
  std::vector<int64_t> counts;
  int64_t fixedBytes = 0;
};

} // namespace

// Whatever else a rank has, it takes no less than with the chunks so far alone. States only grow with a run.
void RankArrangements::list(int64_t chunk, int64_t layers, int64_t bytes, int64_t update) {
  if (chunk == problem.chunks) {
    Arrangement found{counts};
    for (int64_t count : counts) {
      found.emptyRuns += count == 0;
      found.squaresOfRuns += count * count;
    }
    if (found.isBetterThan(best[layers]))
      best[layers] = std::move(found);
    return;
  }
  for (int64_t count = 0; layers + count <= problem.layers() && ++looked <= mostArrangements; ++count) {
    PartRange range = rangeOf(chunk, count);
    int64_t states = bytes + ranges.stateBytes(range), updated = update + ranges.updateBytes(range);
    held[chunk] = ranges.runBytes(range);
    // One micro-batch of the run is kept whole.
    if (states + held[chunk].kept > problem.limitBytes)
      break;
    HeldBytes all = heldBytes(problem, rank, held, updated);
    if (states + all.activations + all.scratch > problem.limitBytes)
      continue;
    counts.push_back(count);
    list(chunk + 1, layers + count, states, updated);
    counts.pop_back();
  }
  held[chunk] = {};
}

namespace {

/// How many layers each rank should have.
class LayersOfRanks {
public:
  explicit LayersOfRanks(const StageProblem &problem) : problem(problem), ranges(problem) {}

  std::optional<std::vector<int64_t>> solve() {
    int64_t looked = 0;
    for (int64_t rank = 0; rank < problem.stages && looked <= mostArrangements; ++rank)
      ranks.push_back(RankArrangements(problem, ranges, rank, looked).best);
    if (looked > mostArrangements)
      return std::nullopt;
    std::vector<int64_t> times = timesThatFit();
    auto least = std::partition_point(times.begin(), times.end(), [&](int64_t time) { return !deal(time); });
    if (least == times.end())
      return std::vector<int64_t>();
    return deal(*least);
  }

private:
  int64_t nanoseconds(int64_t rank, int64_t layers) const {
    int64_t time = layers * problem.parts[1].nanoseconds();
    time += rank == 0 ? problem.parts.front().nanoseconds() : 0;
    return time + (rank == problem.stages - 1 ? problem.parts.back().nanoseconds() : 0);
  }

  std::vector<int64_t> timesThatFit() const {
    std::vector<int64_t> times;
    for (int64_t rank = 0; rank < problem.stages; ++rank)
      for (int64_t layers = 0; layers <= problem.layers(); ++layers)
        if (!ranks[rank][layers].layers.empty())
          times.push_back(nanoseconds(rank, layers));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  /// Of the ranks so far.
  struct Dealt {
    int64_t emptyRuns = std::numeric_limits<int64_t>::max();
    __int128 squaresOfRanks = 0;
    int64_t squaresOfRuns = 0, ofLast = -1; ///< layers of the last rank; -1: there is no way

    bool operator<(const Dealt &other) const {
      if (emptyRuns != other.emptyRuns)
        return emptyRuns < other.emptyRuns;
      return squaresOfRanks != other.squaresOfRanks ? squaresOfRanks < other.squaresOfRanks
                                                    : squaresOfRuns < other.squaresOfRuns;
    }
  };
  std::optional<std::vector<int64_t>> deal(int64_t mostNanoseconds) const;
  std::vector<Dealt> dealToNext(const std::vector<Dealt> &before, int64_t rank, int64_t mostNanoseconds) const;

  const StageProblem &problem;
  StageRanges ranges;
  std::vector<std::vector<Arrangement>> ranks;
};

} // namespace

std::vector<LayersOfRanks::Dealt> LayersOfRanks::dealToNext(const std::vector<Dealt> &before, int64_t rank,
                                                            int64_t mostNanoseconds) const {
  std::vector<Dealt> after(before.size());
  for (int64_t count = 0; count <= problem.layers(); ++count) {
    const Arrangement &arrangement = ranks[rank][count];
    __int128 time = nanoseconds(rank, count);
    if (arrangement.layers.empty() || time > mostNanoseconds)
      continue;
    for (int64_t layers = 0; layers + count <= problem.layers(); ++layers) {
      const Dealt &first = before[layers];
      if (first.ofLast < 0)
        continue;
      Dealt with = {first.emptyRuns + arrangement.emptyRuns, first.squaresOfRanks + time * time,
                    first.squaresOfRuns + arrangement.squaresOfRuns, count};
      if (with < after[layers + count])
        after[layers + count] = with;
    }
  }
  return after;
}

/// The most even way in which no rank takes longer; none where there is no way.
std::optional<std::vector<int64_t>> LayersOfRanks::deal(int64_t mostNanoseconds) const {
  std::vector<std::vector<Dealt>> dealt(1, std::vector<Dealt>(problem.layers() + 1));
  dealt[0][0] = {0, 0, 0, 0};
  for (int64_t rank = 0; rank < problem.stages; ++rank)
    dealt.push_back(dealToNext(dealt.back(), rank, mostNanoseconds));
  int64_t left = problem.layers();
  if (dealt.back()[left].ofLast < 0)
    return std::nullopt;
  std::vector<int64_t> layers(problem.virtualStages());
  for (int64_t rank = problem.stages - 1; rank >= 0; --rank) {
    int64_t count = dealt[rank + 1][left].ofLast;
    for (int64_t chunk = 0; chunk < problem.chunks; ++chunk)
      layers[chunk * problem.stages + rank] = ranks[rank][count].layers[chunk];
    left -= count;
  }
  return layers;
}

std::optional<std::vector<int64_t>> tgpt::cutEqualLayers(const StageProblem &problem) {
  bool isLarge = problem.layers() * problem.layers() > mostDealt / problem.stages;
  if (problem.chunks == 1 || problem.limitBytes == 0 || isLarge || !hasEqualLayers(problem))
    return std::nullopt;
  return LayersOfRanks(problem).solve();
}
