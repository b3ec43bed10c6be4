//===- SimulationRun.cpp - a simulation, from options to reports ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationRun.h"
#include "cost/cluster/ClusterFile.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/sim/Gantt.h"
#include "runtime/sim/Simulate.h"
#include "runtime/sim/SimulationReport.h"
#include "runtime/trace/ChromeTrace.h"

#include <cstdio>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

static constexpr int ganttColumns = 100;

static cost::Cluster readCluster(const std::filesystem::path &path) {
  if (path.empty())
    throw Error("--backend=sim needs the figures of a cluster: add --cluster=FILE (recipes/clusters has some)");
  try {
    return cost::readClusterFile(path);
  } catch (const cost::ClusterError &error) {
    throw Error(error.what());
  }
}

/// A plan that does not fit would take no time at all; its time is still worth knowing.
static void warnOfMemory(const plan::Plan &plan, const cost::Cluster &cluster, std::ostream &out) {
  constexpr double gibibyte = 1 << 30;
  for (const plan::StageProgram &stage : plan.stages()) {
    auto needed = static_cast<double>(stage.arena_bytes());
    if (needed <= cluster.device.planBytes())
      continue;
    char line[200];
    std::snprintf(line, sizeof line, "note: does not fit: a rank of stage %lld needs %.2f GiB, %s has %.2f GiB for it",
                  static_cast<long long>(stage.stage()), needed / gibibyte, cluster.device.name.c_str(),
                  cluster.device.planBytes() / gibibyte);
    out << line << "\n";
    return;
  }
}

void tgpt::runtime::sim::runSimulation(const SimulationRequest &request, std::ostream &out) {
  cost::Cluster cluster = readCluster(request.cluster);
  plan::Plan plan = loadPlan(request.plan.string());
  checkPlan(plan);
  checkCluster(plan, cluster);
  SimulatedStep step = simulate(plan, cluster, {.recordsEvents = !request.trace.empty()});
  if (!request.trace.empty())
    writeChromeTrace(request.trace, plan, step.events, "simulated");
  if (!request.ganttSvg.empty())
    writeTextAtomically(request.ganttSvg, ganttSvg(plan, step));
  if (request.json)
    return printReportJson(plan, cluster, step, out);
  printReport(plan, cluster, step, out);
  warnOfMemory(plan, cluster, out);
  if (request.gantt)
    printGantt(plan, step, ganttColumns, out);
}
