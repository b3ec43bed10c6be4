//===- StageProblem.cpp - what a cut into stages costs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageProblem.h"
#include <algorithm>

using namespace tgpt;

StateBytes &StateBytes::operator+=(const StateBytes &other) {
  add(other, 1);
  return *this;
}

void StateBytes::add(const StateBytes &other, int64_t times) {
  parameters += times * other.parameters;
  gradients += times * other.gradients;
  optimizer += times * other.optimizer;
}

int64_t StageProblem::totalNanoseconds() const {
  int64_t total = 0;
  for (const PartCost &part : parts)
    total += part.nanoseconds();
  return total;
}

int64_t StageProblem::meanNanoseconds() const {
  return (totalNanoseconds() + stages - 1) / stages;
}

int64_t StageProblem::longestPartNanoseconds() const {
  int64_t longest = 0;
  for (const PartCost &part : parts)
    longest = std::max(longest, part.nanoseconds());
  return longest;
}

int64_t StageProblem::lowerBoundNanoseconds() const {
  return std::max(meanNanoseconds(), longestPartNanoseconds());
}

PartRange tgpt::partsOf(const StageProblem &problem, int64_t virtualStage, int64_t firstLayer, int64_t endLayer) {
  bool isFirst = virtualStage == 0, isLast = virtualStage == problem.virtualStages() - 1;
  return {isFirst ? 0 : firstLayer + 1, isLast ? problem.layers() + 2 : endLayer + 1};
}

/// Takes off what parts count that share it: activations once for each run, states once for each rank.
static void takeOffShared(const StageProblem &problem, const std::vector<int64_t> &runOfPart,
                          std::vector<int64_t> &activationsOfRun, std::vector<RankCost> &ranks) {
  std::vector<int64_t> sharedOfRank(problem.stages, -1); // the last one that the rank has
  for (size_t i = 0; i < problem.shared.size(); ++i) {
    int64_t lastRun = -1, item = static_cast<int64_t>(i);
    for (int64_t part : problem.shared[i].parts) {
      int64_t run = runOfPart[part], rank = run % problem.stages;
      if (run == lastRun)
        activationsOfRun[run] -= problem.shared[i].activationBytes;
      if (sharedOfRank[rank] == item)
        ranks[rank].state.add(problem.shared[i].state, -1);
      lastRun = run;
      sharedOfRank[rank] = item;
    }
  }
}

std::vector<RankCost> tgpt::costOfCut(const StageProblem &problem, const std::vector<int64_t> &layers) {
  std::vector<RankCost> ranks(problem.stages);
  std::vector<int64_t> updateBytes(problem.stages), activations(problem.virtualStages());
  std::vector<int64_t> runOfPart(problem.parts.size());
  int64_t firstLayer = 0;
  for (int64_t v = 0; v < problem.virtualStages(); ++v) {
    RankCost &rank = ranks[v % problem.stages];
    PartRange range = partsOf(problem, v, firstLayer, firstLayer + layers[v]);
    firstLayer += layers[v];
    for (int64_t i = range.first; i < range.end; ++i) {
      const PartCost &part = problem.parts[i];
      runOfPart[i] = v;
      rank.forwardNanoseconds += part.forwardNanoseconds;
      rank.backwardNanoseconds += part.backwardNanoseconds;
      rank.collectiveNanoseconds += part.collectiveNanoseconds;
      rank.state += part.state;
      rank.scratchBytes = std::max(rank.scratchBytes, part.scratchBytes);
      updateBytes[v % problem.stages] += part.updateBytes;
      activations[v] += part.activationBytes;
    }
    rank.messageBytes += problem.messageBytes * ((v > 0) + (v < problem.virtualStages() - 1));
  }
  takeOffShared(problem, runOfPart, activations, ranks);
  for (int64_t v = 0; v < problem.virtualStages(); ++v)
    ranks[v % problem.stages].activationBytes += problem.slots[v] * activations[v];
  for (int64_t stage = 0; stage < problem.stages; ++stage)
    ranks[stage].scratchBytes = std::max(ranks[stage].scratchBytes, updateBytes[stage] - activations[stage]);
  return ranks;
}
