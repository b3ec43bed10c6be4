//===- PipelineTime.cpp - how long a pipeline takes, by schedule ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/PipelineTime.h"
#include <algorithm>

namespace tgpt::cost {

static double longestStage(const StageSeconds &stages, const Execution &run) {
  double longest = std::max(stages.first.total(), stages.last.total());
  return run.pp > 2 ? std::max(longest, stages.middle.total()) : longest;
}

/// Of all stages; a single stage is the first.
static PassSeconds stageSum(const StageSeconds &stages, const Execution &run) {
  if (run.pp <= 1)
    return stages.first;
  auto sum = [&](double PassSeconds::*part) {
    return stages.first.*part + (run.pp - 2) * stages.middle.*part + stages.last.*part;
  };
  return {sum(&PassSeconds::forward), sum(&PassSeconds::backwardInput), sum(&PassSeconds::backwardWeight)};
}

/// `filled`: weight gradients that fill a stage's wait, per stage of distance.
static double zeroBubbleSeconds(double longest, const PassSeconds &sum, double filled, const Execution &run) {
  double critical = sum.forward + sum.backwardInput;
  double wait = std::max(0.0, critical - filled * sum.backwardWeight) * (run.pp - 1) / run.pp;
  double roundTrip = ((run.microBatches + run.pp - 1) * critical + sum.backwardWeight) / run.pp;
  return std::max(run.microBatches * longest + wait, roundTrip);
}

double pipelineSeconds(const StageSeconds &stages, const Execution &run) {
  if (run.pp <= 1)
    return run.microBatches * stages.first.total();
  double longest = longestStage(stages, run);
  PassSeconds sum = stageSum(stages, run);
  double idleStages = (run.pp - 1) / run.pp;
  switch (run.schedule) {
  case Schedule::GPipe:
  case Schedule::OneF1B: return (run.microBatches - 1) * longest + sum.total();
  case Schedule::Interleaved:
    // Fewer micro-batches than stages leave every stage idle between its chunks.
    if (run.microBatches < run.pp)
      return sum.total() + (run.microBatches - 1) * longest / run.chunks;
    return run.microBatches * longest + idleStages * sum.total() / run.chunks;
  case Schedule::ZeroBubbleH1: return zeroBubbleSeconds(longest, sum, 1, run);
  case Schedule::ZeroBubbleH2: return zeroBubbleSeconds(longest, sum, 2, run);
  }
  return 0;
}

double bubbleFraction(const StageSeconds &stages, const Execution &run) {
  double busy = run.microBatches * stageSum(stages, run).total() / run.pp;
  return 1 - busy / pipelineSeconds(stages, run);
}

} // namespace tgpt::cost
