//===- SimulationRun.h - a simulation, from options to reports ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_SIMULATIONRUN_H
#define TGPT_RUNTIME_SIM_SIMULATIONRUN_H

#include "cost/cluster/Cluster.h"
#include "runtime/plan/plan.pb.h"

#include <filesystem>
#include <ostream>

namespace tgpt::runtime::sim {

/// What `tgpt-run --backend=sim` is asked for.
struct SimulationRequest {
  std::filesystem::path plan;
  std::filesystem::path cluster;
  std::filesystem::path trace; ///< empty: none
  std::filesystem::path ganttSvg;
  bool gantt = false; ///< as text
  bool json = false;
};

/// Loads the plan and the cluster, simulates a step and reports on it. Throws Error.
void runSimulation(const SimulationRequest &request, std::ostream &out);

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_SIMULATIONRUN_H
