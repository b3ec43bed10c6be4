//===- StageCut.h - where to cut a model into stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which cut makes the slowest rank fastest while every rank's bytes stay below the
// limit?
//
// With one chunk a stage the answer is exact. Whether a greatest time can be kept is
// seen by letting every stage reach as far as it can, and the least such time is found
// by bisection. Among the cuts that keep it, dynamic programming over (stage, first
// layer) takes one with the fewest stages without layers, then the least sum of squares
// of the stages' times, then of their numbers of layers, then the fewest layers on the
// first stages, which have the most micro-batches in flight.
//
// With several chunks a rank's time and bytes are sums over runs that lie apart, which
// that recursion cannot see. Good starts (the exact answer for as many stages as there are
// runs, without a limit and with an equal share of it each; the exact answer for the ranks,
// dealt out evenly over their chunks) are improved by moving one layer at a time while that
// helps (MoveLayers.h), and the best of them by a search through all cuts (SearchCuts.h):
// exact for up to some ten thousand cuts, above that for a number of steps. Where all layers
// cost the same it is the best there is, under a limit too (EqualLayers.h); else `isProven`
// says whether it is, and the gap to `leastNanoseconds` how far off it can be at most.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGECUT_H
#define TGPT_PASSES_PIPELINE_STAGECUT_H

#include "passes/pipeline/StageProblem.h"

namespace tgpt {

/// A cut, and what it costs.
struct StageCut {
  std::vector<int64_t> layers; ///< of each virtual stage
  std::vector<RankCost> ranks;
  bool isProven = false; ///< where it fits no cut that does is faster, and where it does not none fits

  int64_t greatestNanoseconds() const;
  /// The rank with the most bytes, the first of several.
  int64_t fullestRank() const;
  int64_t greatestBytes() const { return ranks[fullestRank()].bytes(); }
  bool fits(const StageProblem &problem) const {
    return problem.limitBytes == 0 || greatestBytes() <= problem.limitBytes;
  }
};

/// The cut given by hand.
StageCut cutByHand(const StageProblem &problem, const std::vector<int64_t> &layers);

/// The best cut. Where none fits the limit (with several chunks: where none was found, see `isProven`) it is one that
/// comes as close as can be, and `fits` is false.
StageCut chooseCut(const StageProblem &problem);

/// The same where the bytes are estimates: of the cuts with as fast a slowest rank one that leaves 2%, 1% or half a per
/// cent of the limit, if there is one.
StageCut chooseCutWithRoom(const StageProblem &problem);

/// A time that no cut has a slowest rank below, memory aside. With one chunk, and with several where all
/// layers take the same time, it is the time of the best cut.
int64_t leastNanoseconds(const StageProblem &problem);

/// Most layers of a problem that `chooseCut` takes.
inline constexpr int64_t mostLayersToCut = 1 << 14;

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGECUT_H
