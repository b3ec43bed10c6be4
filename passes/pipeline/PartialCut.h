//===- PartialCut.h - the first runs of a cut, and what can follow ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the search through cuts: runs are put behind each other, one a virtual stage, and taken
// back. Nothing that it says of a rank is more than what the rank will have in the end.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_PARTIALCUT_H
#define TGPT_PASSES_PIPELINE_PARTIALCUT_H

#include "passes/pipeline/StageRanges.h"

#include <limits>

namespace tgpt {

/// Bytes or nanoseconds where there is no limit.
inline constexpr int64_t unboundedCost = std::numeric_limits<int64_t>::max();

class PartialCut {
public:
  /// Keeps a reference to the problem.
  explicit PartialCut(const StageProblem &problem);

  /// Gives the next virtual stage the layers up to `endLayer`; takes its layers back.
  void push(int64_t endLayer);
  void pop();

  int64_t runs() const { return static_cast<int64_t>(ends.size()); }
  int64_t endLayer() const { return ends.empty() ? 0 : ends.back(); }
  std::vector<int64_t> layers() const;
  /// Of the rank of the last run.
  int64_t nanoseconds() const { return ranks[lastRank()].nanoseconds; }
  int64_t bytes() const;
  /// Whether the layers that are left can be dealt out to the ranks that have runs left: by their times alone, and by
  /// the least that each of them takes and holds.
  bool hasRoom(int64_t mostNanoseconds, int64_t mostBytes) const;

private:
  struct Rank {
    int64_t nanoseconds = 0, stateBytes = 0, keptBytes = 0, updateBytes = 0;
    int64_t messageBytes = 0;
    /// No placement of bytes in its runs takes less than so many (a fraction) of their sum.
    int64_t slots = 1, runsOfSlots = 1;
  };
  /// The least of any layer from some layer on.
  struct Least {
    int64_t nanoseconds = 0, stateBytes = 0, keptBytes = 0;
  };
  void setLeasts();
  void setSlots(int64_t rank);
  void setHeld(int64_t rank);
  void add(int64_t run, const PartRange &range, int64_t sign);
  int64_t lastRank() const { return (runs() - 1) % problem.stages; }
  bool hasRunsLeft(int64_t rank) const { return (problem.chunks - 1) * problem.stages + rank >= runs(); }
  PartRange rangeOf(int64_t run) const { return partsOf(problem, run, run == 0 ? 0 : ends[run - 1], ends[run]); }
  static int64_t leastActivations(const Rank &rank, int64_t keptBytes);

  const StageProblem &problem;
  StageRanges ranges;
  std::vector<int64_t> ends; ///< of the runs so far
  std::vector<RunBytes> held;
  std::vector<Rank> ranks;
  std::vector<Least> leasts;               ///< by first layer
  std::vector<std::vector<int64_t>> users; ///< of each rank: how many parts it has of each thing that is shared
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_PARTIALCUT_H
