//===- StageRanges.h - costs of runs of layers in constant time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a run of parts: its time and its bytes. For problems of one chunk, where a stage is
// one run: its bytes altogether, and how far it can reach.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGERANGES_H
#define TGPT_PASSES_PIPELINE_STAGERANGES_H

#include "passes/pipeline/StageProblem.h"
#include <optional>

namespace tgpt {

class StageRanges {
public:
  /// Keeps a reference to the problem.
  explicit StageRanges(const StageProblem &problem);

  int64_t nanoseconds(const PartRange &range) const { return time[range.end] - time[range.first]; }
  /// As every part counts them: what parts share is in it several times.
  int64_t stateBytes(const PartRange &range) const { return state[range.end] - state[range.first]; }
  int64_t updateBytes(const PartRange &range) const { return update[range.end] - update[range.first]; }
  RunBytes runBytes(const PartRange &range) const;

  // Of problems of one chunk:

  int64_t nanoseconds(int64_t stage, int64_t firstLayer, int64_t endLayer) const;
  int64_t bytes(int64_t stage, int64_t firstLayer, int64_t endLayer) const;
  /// True when the stage takes no longer and holds no more than this.
  bool fits(int64_t stage, int64_t firstLayer, int64_t endLayer, int64_t mostNanoseconds, int64_t mostBytes) const;
  /// The last layer boundary that a stage from `firstLayer` reaches, no further than the last layer; -1 where not even
  /// a stage without layers fits. Time and bytes only grow with a run, so every end before it fits as well. For the
  /// last stage that end is the last layer, or -1.
  int64_t reach(int64_t stage, int64_t firstLayer, int64_t mostNanoseconds, int64_t mostBytes) const;

private:
  /// The greatest of any run of values.
  class Greatest {
  public:
    explicit Greatest(std::vector<int64_t> values);
    int64_t of(const PartRange &range) const; ///< which is not empty

  private:
    std::vector<std::vector<int64_t>> most; ///< [k][i]: of the 2^k values from i
  };
  /// Bytes counted twice where the parts `first` and `second` are in one run.
  struct Pair {
    int64_t first, second;
    int64_t stateBytes, activationBytes;
  };
  void addPairs(const SharedBytes &shared);

  const StageProblem &problem;
  /// Sums over the parts before each; `twice` over the pairs of neighbours up to each.
  std::vector<int64_t> time, state, activations, update, behind, twiceState, twiceActivations;
  std::vector<Pair> farPairs; ///< of parts that are no neighbours
  /// Of each part, less what all up to it keep more after their backward than before.
  std::optional<Greatest> scratch, growth, backward;
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGERANGES_H
