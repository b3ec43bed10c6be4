//===- TaskRates.cpp - what runs, and how fast beside what else runs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StepSimulation.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

/// Which stages' ranks share the node of a stage's first rank.
void StepSimulation::findNeighbours() {
  const RankGrid &grid = actions.getGrid();
  auto perNode = static_cast<int64_t>(cluster.topology.ranksPerNode);
  if (perNode <= 0) // there is one node
    perNode = grid.ranks();
  for (Stage &stage : stages) {
    int64_t first = actions.rankOf(indexOf(stage)) / perNode * perNode;
    std::vector<int> counts(stages.size());
    for (int64_t rank = first; rank < std::min(first + perNode, grid.ranks()); ++rank)
      ++counts[grid.stageOf(rank)];
    for (size_t other = 0; other < counts.size(); ++other)
      if (counts[other] > 0)
        stage.onNode.emplace_back(static_cast<int>(other), counts[other]);
  }
}

void StepSimulation::beginTask(Stage &stage, int queue, double seconds, bool isKernel) {
  Task &task = stage.tasks[queue];
  task.isRunning = true;
  task.isKernel = isKernel;
  task.remaining = task.alone = seconds;
  task.begin = task.since = now;
  task.rate = 0; // set, with the moment of its end, by setRates
  setRates(stage);
}

double StepSimulation::rateOf(const Stage &stage, int queue) const {
  if (cores > 0) {
    double running = 0;
    for (auto [other, count] : stage.onNode)
      for (const Task &task : stages[other].tasks)
        running += task.isRunning ? count : 0;
    double rate = std::min(1.0, cores / std::max(running, 1.0));
    bool isSlowed = stage.tasks[queue].isKernel && cluster.measured; // exchanges are measured with all ranks at work
    return isSlowed ? rate * cluster.measured->rateOfBusyCores(running, cores) : rate;
  }
  bool communicates = stage.tasks[1].isRunning || stage.tasks[2].isRunning;
  bool isSlowed = queue == 0 && stage.tasks[0].isKernel && communicates;
  return isSlowed ? 1 - cluster.software.overlapSlowdown : 1;
}

void StepSimulation::setRates(Stage &changed) {
  auto set = [this](Stage &stage) {
    for (int queue = 0; queue < queues; ++queue)
      if (stage.tasks[queue].isRunning)
        setRate(stage, queue, rateOf(stage, queue));
  };
  if (cores <= 0)
    return set(changed);
  for (Stage &stage : stages)
    set(stage);
}

void StepSimulation::setRate(Stage &stage, int queue, double rate) {
  Task &task = stage.tasks[queue];
  if (rate == task.rate)
    return;
  task.remaining = std::max(0.0, task.remaining - (now - task.since) * task.rate);
  task.since = now;
  task.rate = rate;
  pending.push({now + task.remaining / rate, moments++, indexOf(stage), queue, ++task.version});
}
