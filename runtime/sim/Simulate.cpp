//===- Simulate.cpp - a plan's step in virtual time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulate.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/sim/StepSimulation.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

void tgpt::runtime::sim::checkCluster(const plan::Plan &plan, const cost::Cluster &cluster) {
  int64_t ranks = RankGrid(plan.mesh()).ranks();
  double most = cluster.topology.mostRanks();
  if (most > 0 && static_cast<double>(ranks) > most)
    throw Error("the plan has " + std::to_string(ranks) + " ranks, but cluster '" + cluster.name + "' joins at most " +
                std::to_string(static_cast<int64_t>(most)) + " (ranks of its outermost level)");
}

SimulatedStep tgpt::runtime::sim::simulate(const plan::Plan &plan, const cost::Cluster &cluster,
                                           const SimulationOptions &options) {
  bool hasWork = false;
  for (const plan::StageProgram &stage : plan.stages())
    hasWork |= stage.segments_size() > 0 && stage.schedule_size() > 0;
  if (!hasWork)
    throw Error("the plan has no segments to run: no stage's schedule has an entry");
  return StepSimulation(plan, cluster, options).run();
}
