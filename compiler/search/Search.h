//===- Search.h - the best plans of all that there are ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exhaustive: every candidate is refused for a reason, or its memory and time are computed
// by the closed forms of cost/. What many candidates have in common is computed once: the
// parts of a layer for all that share tp, sp, samples and the distance of tp ranks; memory
// for all orders of ranks. Nothing is pruned, so the result is that of evaluating every
// candidate on its own, which a test does.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_SEARCH_H
#define TGPT_COMPILER_SEARCH_SEARCH_H

#include "compiler/search/Grid.h"
#include "cost/RankMemory.h"
#include "cost/StepTime.h"
#include <functional>

namespace tgpt::search {

/// A candidate and what it needs.
struct Scored {
  Candidate candidate;
  double seconds = 0; ///< of a step; 0 where only the memory was looked at
  double bytes = 0;   ///< of the fullest rank's arena

  /// Faster, or as fast in less memory.
  bool isBetterThan(const Scored &other) const {
    return seconds != other.seconds ? seconds < other.seconds : bytes < other.bytes;
  }
};

/// A question that the table answers whatever the winner is.
struct Alternative {
  const char *name;
  bool (*holds)(const Problem &problem, const Candidate &candidate);
};
extern const std::array<Alternative, 6> alternatives;

struct SearchResult {
  int64_t candidates = 0;                      ///< in all
  int64_t evaluated = 0;                       ///< those whose time was computed
  std::array<int64_t, refusalCount> refused{}; ///< by reason
  double searchSeconds = 0;
  std::vector<Scored> ranked; ///< of each grid the plans that no other beats in both time and memory; fastest first
  std::vector<std::optional<Scored>> best; ///< of each alternative
  std::optional<Scored> closest;           ///< of those that need too much memory, the one that lacks least
  double missingBytes = 0;                 ///< that it lacks

  /// Of each grid the fastest, fastest first.
  std::vector<Scored> bestOfGrids() const;
};

/// `progress` hears the share of the grids that is done, from time to time.
SearchResult search(const Problem &problem, const std::function<void(double)> &progress = {});

/// One candidate on its own, as any other code would evaluate it.
Scored evaluate(const Problem &problem, const Candidate &candidate);
/// Bytes of its fullest rank.
/// How memory is counted: with the micro-batches held, and the layers that a cut would leave to the last chunk.
cost::Execution cutExecutionOf(const Problem &problem, const Candidate &candidate);
cost::RankMemory memoryOf(const Problem &problem, const Candidate &candidate);
cost::StepBreakdown breakdownOf(const Problem &problem, const Candidate &candidate);
double utilizationOf(const Problem &problem, const Scored &scored);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_SEARCH_H
