//===- MoveLayers.cpp - better cuts, one layer at a time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/MoveLayers.h"
#include "passes/pipeline/CutJudgement.h"

using namespace tgpt;

/// Up to so many virtual stages every move is tried, above it those from the slowest or fullest rank.
static constexpr int64_t mostToTryAll = 64;
/// Parts and virtual stages looked at, in all: some seconds would be the most.
static constexpr int64_t mostTrials = 1 << 27;

/// What a judgement looks at: parts, and what stages hold at their moments.
static int64_t stepsOfJudgement(const StageProblem &problem) {
  int64_t steps = problem.virtualStages() + problem.layers();
  for (const std::vector<HeldAtOnce> &moments : problem.inFlight.moments)
    steps += static_cast<int64_t>(moments.size()) * problem.chunks;
  return steps;
}

/// Makes the best single move there is; false where none helps, or after all the steps there may be.
static bool improve(const StageProblem &problem, std::vector<int64_t> &layers, CutJudgement &best, int64_t &steps) {
  int64_t count = problem.virtualStages(), bestFrom = -1, bestTo = -1;
  int64_t worst = best.worstRank;
  for (int64_t from = 0; from < count; ++from)
    for (int64_t to = 0; to < count; ++to) {
      bool isTried = count <= mostToTryAll || from % problem.stages == worst;
      if (from == to || layers[from] == 0 || !isTried || steps > mostTrials)
        continue;
      steps += stepsOfJudgement(problem);
      --layers[from], ++layers[to];
      CutJudgement judgement = judgeCut(problem, layers);
      ++layers[from], --layers[to];
      if (judgement.isNearerThan(best)) {
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

std::vector<int64_t> tgpt::moveLayers(const StageProblem &problem, const std::vector<std::vector<int64_t>> &starts) {
  std::vector<int64_t> best;
  CutJudgement bestJudgement;
  for (std::vector<int64_t> layers : starts) {
    CutJudgement judgement = judgeCut(problem, layers);
    int64_t steps = 0;
    while (improve(problem, layers, judgement, steps)) {
    }
    if (best.empty() || judgement.isBetterThan(bestJudgement)) {
      best = layers;
      bestJudgement = judgement;
    }
  }
  return best;
}
