//===- Simulate.h - a plan's step in virtual time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The third backend: executes the very instructions of a plan, in the order and with the
// waits of the engine, but takes their times from a cluster's figures instead of doing
// them. Its cost does not depend on dp and tp.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_SIMULATE_H
#define TGPT_RUNTIME_SIM_SIMULATE_H

#include "cost/cluster/Cluster.h"
#include "runtime/sim/SimulatedStep.h"

namespace tgpt::runtime::sim {

struct SimulationOptions {
  bool recordsEvents = false; ///< every instruction, for a trace; else only sums and entries, which is faster
};

/// Throws Error where a plan has more ranks than the cluster joins.
void checkCluster(const plan::Plan &plan, const cost::Cluster &cluster);

/// One step of a plan that checkPlan accepts, on a cluster that is large enough (checkCluster).
/// Throws Error where the plan has nothing to run.
SimulatedStep simulate(const plan::Plan &plan, const cost::Cluster &cluster, const SimulationOptions &options = {});

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_SIMULATE_H
