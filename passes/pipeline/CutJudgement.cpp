//===- CutJudgement.cpp - what a cut into stages is judged by ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/CutJudgement.h"
#include <algorithm>
#include <tuple>

using namespace tgpt;

bool CutJudgement::isBetterThan(const CutJudgement &other) const {
  auto key = [](const CutJudgement &of) {
    return std::tie(of.mostBytesAbove, of.greatestNanoseconds, of.emptyRuns, of.squaresOfRanks, of.squaresOfRuns);
  };
  return key(*this) < key(other);
}

bool CutJudgement::isNearerThan(const CutJudgement &other) const {
  auto key = [](const CutJudgement &of) {
    return std::tie(of.allBytesAbove, of.greatestNanoseconds, of.emptyRuns, of.squaresOfRanks, of.squaresOfRuns);
  };
  return key(*this) < key(other);
}

CutJudgement tgpt::judgeCut(const StageProblem &problem, const std::vector<int64_t> &layers) {
  CutJudgement judgement;
  std::vector<RankCost> ranks = costOfCut(problem, layers);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    int64_t above = problem.limitBytes == 0 ? 0 : std::max<int64_t>(ranks[rank].bytes() - problem.limitBytes, 0);
    int64_t time = ranks[rank].nanoseconds();
    if (above > judgement.mostBytesAbove || (judgement.mostBytesAbove == 0 && time > judgement.greatestNanoseconds))
      judgement.worstRank = static_cast<int64_t>(rank);
    judgement.mostBytesAbove = std::max(judgement.mostBytesAbove, above);
    judgement.allBytesAbove += above;
    judgement.greatestNanoseconds = std::max(judgement.greatestNanoseconds, time);
    judgement.squaresOfRanks += static_cast<__int128>(time) * time;
  }
  for (int64_t count : layers) {
    judgement.emptyRuns += count == 0;
    judgement.squaresOfRuns += static_cast<__int128>(count) * count;
  }
  return judgement;
}
