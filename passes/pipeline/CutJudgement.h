//===- CutJudgement.h - what a cut into stages is judged by ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_CUTJUDGEMENT_H
#define TGPT_PASSES_PIPELINE_CUTJUDGEMENT_H

#include "passes/pipeline/StageProblem.h"

namespace tgpt {

/// The most important first: bytes above the limit, the slowest rank, virtual stages without layers, evenness.
struct CutJudgement {
  int64_t mostBytesAbove = 0; ///< the limit, of any rank
  int64_t allBytesAbove = 0;  ///< of all ranks together
  int64_t greatestNanoseconds = 0;
  int64_t emptyRuns = 0;
  __int128 squaresOfRanks = 0; ///< of their nanoseconds
  __int128 squaresOfRuns = 0;  ///< of their numbers of layers
  int64_t worstRank = 0;       ///< the one with most bytes above the limit, else the slowest

  /// Of two cuts the one to take.
  bool isBetterThan(const CutJudgement &other) const;
  /// Of two cuts the one to go on from: where the fullest rank is as full, others may have become less full.
  bool isNearerThan(const CutJudgement &other) const;
};

CutJudgement judgeCut(const StageProblem &problem, const std::vector<int64_t> &layers);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_CUTJUDGEMENT_H
