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

#include <algorithm>
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

/// A plan that does not fit would take no time at all; its time is still worth knowing. Of the stages the one that
/// lacks most is named.
static void warnOfMemory(const plan::Plan &plan, const cost::Cluster &cluster, std::ostream &out) {
  constexpr double gibibyte = 1 << 30;
  int worst = -1;
  double worstHas = 0, mostMissing = 0;
  for (int s = 0; s < plan.stages_size(); ++s) {
    double has = memoryForPlan(plan, s, cluster), missing = static_cast<double>(plan.stages(s).arena_bytes()) - has;
    if (missing <= mostMissing)
      continue;
    worst = s;
    worstHas = has;
    mostMissing = missing;
  }
  if (worst < 0)
    return;
  char line[240];
  std::snprintf(
      line, sizeof line,
      "note: does not fit: a rank of stage %lld needs %.2f GiB, %s has %.2f GiB for it beside its context and "
      "communicators",
      static_cast<long long>(plan.stages(worst).stage()),
      static_cast<double>(plan.stages(worst).arena_bytes()) / gibibyte, cluster.device.name.c_str(),
      std::max(worstHas, 0.0) / gibibyte);
  out << line << "\n";
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
