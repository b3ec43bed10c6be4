//===- SimulationReport.h - a simulated step for people and programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_SIMULATIONREPORT_H
#define TGPT_RUNTIME_SIM_SIMULATIONREPORT_H

#include "cost/cluster/Cluster.h"
#include "runtime/sim/SimulatedStep.h"

#include <ostream>

namespace tgpt::runtime::sim {

/// Bytes that the device has for an arena of a stage (a place in plan.stages()): its memory but for what context,
/// libraries and the communicators of that stage take. As `tgpt-opt --cluster` limits it; may be below 0.
double memoryForPlan(const plan::Plan &plan, int stage, const cost::Cluster &cluster);

/// Step time, MFU, and where the time of ranks goes, in the mean and stage by stage.
void printReport(const plan::Plan &plan, const cost::Cluster &cluster, const SimulatedStep &step, std::ostream &out);

/// The same as one JSON object; all times in seconds.
void printReportJson(const plan::Plan &plan, const cost::Cluster &cluster, const SimulatedStep &step,
                     std::ostream &out);

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_SIMULATIONREPORT_H
