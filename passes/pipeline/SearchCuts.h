//===- SearchCuts.h - the best of all cuts into chunks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branch and bound over the virtual stages, in their order. What a rank takes and holds of
// the runs that it has is no more than it will with those to come; and the layers that are
// left must find room on the ranks that have runs left. Where that is too much for a cut
// to be better than the best one so far, none that begins like this is looked at.
//
// Where there are few cuts, the search ends with the one that is best in every respect.
// Where there are many, it looks for one that fits and then for a faster one, leaves evenness
// as it is, and ends after a number of steps.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SEARCHCUTS_H
#define TGPT_PASSES_PIPELINE_SEARCHCUTS_H

#include "passes/pipeline/StageProblem.h"

namespace tgpt {

struct SearchedCut {
  std::vector<int64_t> layers; ///< of each virtual stage
  bool isProven = false;       ///< no cut fits that this one does not, and none that fits is faster
};

/// The best cut there is, or, where the search ends before, the best of `start` and those that were found. `isSettled`:
/// no cut is faster than `start`, or where it does not fit none fits; then there is nothing to look for among many
/// cuts.
SearchedCut searchCuts(const StageProblem &problem, std::vector<int64_t> start, bool isSettled);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SEARCHCUTS_H
