//===- MoveLayers.cpp - better cuts, one layer at a time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/MoveLayers.h"
#include <algorithm>
#include <tuple>

using namespace tgpt;

/// Up to so many virtual stages every move is tried, above it those from the slowest or fullest rank.
static constexpr int64_t mostToTryAll = 64;
/// Parts and virtual stages looked at, in all: some seconds would be the most.
static constexpr int64_t mostTrials = 1 << 27;

namespace {

/// What a cut is judged by, the most important first.
struct Judgement {
  int64_t bytesAboveLimit = 0;
  int64_t greatestNanoseconds = 0;
  int64_t emptyRuns = 0;
  __int128 squaresOfRanks = 0, squaresOfRuns = 0;
  int64_t worstRank = 0;

  bool operator<(const Judgement &other) const { return key() < other.key(); }

private:
  std::tuple<int64_t, int64_t, int64_t, __int128, __int128> key() const {
    return {bytesAboveLimit, greatestNanoseconds, emptyRuns, squaresOfRanks, squaresOfRuns};
  }
};

Judgement judge(const StageProblem &problem, const std::vector<int64_t> &layers) {
  Judgement judgement;
  int64_t mostAbove = 0;
  std::vector<RankCost> ranks = costOfCut(problem, layers);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    int64_t above = problem.limitBytes == 0 ? 0 : std::max<int64_t>(ranks[rank].bytes() - problem.limitBytes, 0);
    int64_t time = ranks[rank].nanoseconds();
    if (above > mostAbove || (mostAbove == 0 && time > judgement.greatestNanoseconds))
      judgement.worstRank = static_cast<int64_t>(rank);
    mostAbove = std::max(mostAbove, above);
    judgement.bytesAboveLimit += above;
    judgement.greatestNanoseconds = std::max(judgement.greatestNanoseconds, time);
    judgement.squaresOfRanks += static_cast<__int128>(time) * time;
  }
  for (int64_t count : layers) {
    judgement.emptyRuns += count == 0;
    judgement.squaresOfRuns += static_cast<__int128>(count) * count;
  }
  return judgement;
}

/// Makes the best single move there is; false where none helps, or after all the steps there may be.
bool improve(const StageProblem &problem, std::vector<int64_t> &layers, Judgement &best, int64_t &steps) {
  int64_t count = problem.virtualStages(), bestFrom = -1, bestTo = -1;
  int64_t worst = best.worstRank;
  for (int64_t from = 0; from < count; ++from)
    for (int64_t to = 0; to < count; ++to) {
      bool isTried = count <= mostToTryAll || from % problem.stages == worst;
      if (from == to || layers[from] == 0 || !isTried || steps > mostTrials)
        continue;
      steps += count + problem.layers();
      --layers[from], ++layers[to];
      Judgement judgement = judge(problem, layers);
      ++layers[from], --layers[to];
      if (judgement < best) {
        best = judgement;
        bestFrom = from;
        bestTo = to;
      }
    }
  if (bestFrom < 0)
    return false;
  --layers[bestFrom], ++layers[bestTo];
  return true;
}

} // namespace

std::vector<int64_t> tgpt::moveLayers(const StageProblem &problem, const std::vector<std::vector<int64_t>> &starts) {
  std::vector<int64_t> best;
  Judgement bestJudgement;
  for (std::vector<int64_t> layers : starts) {
    Judgement judgement = judge(problem, layers);
    int64_t steps = 0;
    while (improve(problem, layers, judgement, steps)) {
    }
    if (best.empty() || judgement < bestJudgement) {
      best = layers;
      bestJudgement = judgement;
    }
  }
  return best;
}
