//===- SimulationReport.cpp - a simulated step for people and programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationReport.h"

#include "runtime/plan/RankCommunicators.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace tgpt;
using namespace tgpt::runtime::sim;

namespace {

/// A line as printf makes it.
__attribute__((format(printf, 2, 3))) void printLine(std::ostream &out, const char *format, ...) {
  char line[240];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out << line << "\n";
}

/// A part of the mean rank's step.
struct Share {
  const char *name;
  double seconds;
};

} // namespace

double tgpt::runtime::sim::memoryForPlan(const plan::Plan &plan, int stage, const cost::Cluster &cluster) {
  return cluster.device.planBytes() - cluster.communicator.bytesOf(communicatorsOf(plan, stage));
}

static std::string meshText(const plan::Plan &plan) {
  std::string text;
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    text += (text.empty() ? "" : " ") + axis.name() + "=" + std::to_string(axis.size());
  return text;
}

static void printMeans(const SimulatedStep &step, std::ostream &out) {
  const Share shares[] = {{"computing", step.meanComputing()},
                          {"exposed tp communication", step.meanExposed(Traffic::Tensor)},
                          {"exposed dp communication", step.meanExposed(Traffic::Data)},
                          {"exposed pp communication", step.meanExposed(Traffic::Pipeline)},
                          {"idle (bubble)", step.meanIdle()},
                          {"host work", step.overheadSeconds}};
  out << "mean over ranks                    ms       %\n";
  for (const Share &share : shares)
    printLine(out, "  %-24s %11.3f  %6.1f", share.name, 1e3 * share.seconds,
              step.seconds > 0 ? 100 * share.seconds / step.seconds : 0);
  double beside = step.meanBeside(Traffic::Tensor) + step.meanBeside(Traffic::Data);
  if (step.meanSlowedDown() > 0 || beside > 0)
    printLine(out, "communication beside computation: %.3f ms; computing takes %.3f ms more than alone", 1e3 * beside,
              1e3 * step.meanSlowedDown());
}

static void printStages(const SimulatedStep &step, std::ostream &out) {
  auto nameOf = [&](size_t stage) {
    return "stage " + std::to_string(stage) + ", rank " + std::to_string(step.stages[stage].rank);
  };
  size_t width = 15;
  for (size_t s = 0; s < step.stages.size(); ++s)
    width = std::max(width, nameOf(s).size());
  int columns = static_cast<int>(width);
  printLine(out, "%-*s   computing   exposed tp           dp           pp         idle        ends", columns,
            "of a rank, ms");
  for (size_t s = 0; s < step.stages.size(); ++s) {
    const RankSeconds &rank = step.stages[s];
    printLine(out, "%-*s %11.3f  %11.3f  %11.3f  %11.3f  %11.3f %11.3f", columns, nameOf(s).c_str(),
              1e3 * rank.computing, 1e3 * rank.exposed[Traffic::Tensor], 1e3 * rank.exposed[Traffic::Data],
              1e3 * rank.exposed[Traffic::Pipeline], 1e3 * rank.idle, 1e3 * rank.end);
  }
}

void tgpt::runtime::sim::printReport(const plan::Plan &plan, const cost::Cluster &cluster, const SimulatedStep &step,
                                     std::ostream &out) {
  out << plan.model_name() << " on " << cluster.name << ": " << step.ranks << (step.ranks == 1 ? " rank (" : " ranks (")
      << meshText(plan) << ") of " << cluster.device.name << "\n";
  printLine(out, "step            %.3f ms", 1e3 * step.seconds);
  printLine(out, "MFU             %.1f%%", 100 * step.modelFlopsShare);
  printLine(out, "tokens/s        %.0f", step.tokensPerSecond);
  printLine(out, "bubble          %.1f%% of the time that ranks are busy", 100 * step.bubble());
  printMeans(step, out);
  printStages(step, out);
}

static nlohmann::ordered_json json(const std::array<double, 3> &seconds) {
  nlohmann::ordered_json object;
  for (size_t i = 0; i < seconds.size(); ++i)
    object[trafficNames[i]] = seconds[i];
  return object;
}

void tgpt::runtime::sim::printReportJson(const plan::Plan &plan, const cost::Cluster &cluster,
                                         const SimulatedStep &step, std::ostream &out) {
  nlohmann::ordered_json mesh = nlohmann::ordered_json::object(), stages = nlohmann::ordered_json::array();
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    mesh[axis.name()] = axis.size();
  for (size_t s = 0; s < step.stages.size(); ++s) {
    const RankSeconds &rank = step.stages[s];
    stages.push_back({{"stage", s},
                      {"rank", rank.rank},
                      {"ranks", step.ranksPerStage},
                      {"arena_bytes", plan.stages(static_cast<int>(s)).arena_bytes()},
                      {"device_bytes_for_arena", memoryForPlan(plan, static_cast<int>(s), cluster)},
                      {"computing_seconds", rank.computing},
                      {"slowed_down_seconds", rank.slowedDown},
                      {"exposed_seconds", json(rank.exposed.seconds)},
                      {"beside_seconds", json(rank.beside.seconds)},
                      {"idle_seconds", rank.idle},
                      {"end_seconds", rank.end}});
  }
  std::array<double, 3> exposed{}, beside{};
  for (Traffic traffic : {Traffic::Tensor, Traffic::Data, Traffic::Pipeline}) {
    exposed[static_cast<size_t>(traffic)] = step.meanExposed(traffic);
    beside[static_cast<size_t>(traffic)] = step.meanBeside(traffic);
  }
  nlohmann::ordered_json report = {{"model", plan.model_name()},
                                   {"cluster", cluster.name},
                                   {"device", cluster.device.name},
                                   {"ranks", step.ranks},
                                   {"mesh", mesh},
                                   {"step_seconds", step.seconds},
                                   {"mfu", step.modelFlopsShare},
                                   {"tokens_per_second", step.tokensPerSecond},
                                   {"bubble", step.bubble()},
                                   {"computing_seconds", step.meanComputing()},
                                   {"slowed_down_seconds", step.meanSlowedDown()},
                                   {"exposed_seconds", json(exposed)},
                                   {"beside_seconds", json(beside)},
                                   {"idle_seconds", step.meanIdle()},
                                   {"overhead_seconds", step.overheadSeconds},
                                   {"stages", stages}};
  out << report.dump(2) << "\n";
}
