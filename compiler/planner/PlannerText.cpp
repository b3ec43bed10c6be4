//===- PlannerText.cpp - what the planner found, for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/PlannerText.h"
#include "compiler/report/TextTable.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tgpt {
namespace {

using search::Candidate;
using search::plainSecondsText;
using search::signedBytesText;
using search::signedSecondsText;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string headText(const PlannerReport &report) {
  const search::Problem &problem = report.problem;
  double onNode = problem.machine.topology.ranksPerNode;
  std::string nodes =
      onNode > 0 && static_cast<double>(problem.gpus) > onNode
          ? ", " + number(std::ceil(static_cast<double>(problem.gpus) / onNode)) + " nodes of " + number(onNode)
          : "";
  char parameters[32];
  std::snprintf(parameters, sizeof parameters, "%.4g", static_cast<double>(report.model.parameters));
  return "plans for " + report.model.name + " (" + parameters + " parameters, " + report.request.dtype + ") on " +
         std::to_string(problem.gpus) + " x " + report.cluster.device.name + nodes + ": a step of " +
         std::to_string(problem.globalBatch) + " sequences of " + number(problem.shape.sequence) + " tokens, " +
         bytesText(problem.memoryBytes) + " a rank" + (problem.communicatorBytes ? ", communicators included" : "") +
         "\n";
}

std::string countsText(const search::SearchResult &found) {
  double all = static_cast<double>(found.candidates);
  std::string text = std::to_string(found.candidates) + " candidates in " + plainSecondsText(found.searchSeconds) +
                     " (" + number(all / found.searchSeconds) +
                     " a second): " + percent(static_cast<double>(found.evaluated) / all) + " fit";
  for (std::size_t i = 0; i < search::refusalCount; ++i)
    if (found.refused[i] > 0)
      text += ", " + percent(static_cast<double>(found.refused[i]) / all) + " " + search::refusalTexts[i];
  if (found.closest && found.missingBytes > 0)
    text += " (the closest by " + bytesText(found.missingBytes) + ")";
  return text + "\n";
}

std::vector<std::string> choiceCells(const Candidate &c) {
  std::string schedule = search::pipelineOrderNames[static_cast<std::size_t>(c.schedule)];
  std::string zero = std::to_string(c.zero) + (c.zeroGroup > 0 ? "/" + std::to_string(c.zeroGroup) : "");
  return {std::to_string(c.tp) + (c.sp ? " sp" : ""),
          std::to_string(c.pp) + (c.vpp > 1 ? "x" + std::to_string(c.vpp) : ""),
          std::to_string(c.dp),
          zero,
          c.hasBuckets() ? std::to_string(c.bucketMib) : "-",
          !c.overlap              ? "off"
          : c.gathersParameters() ? std::to_string(c.prefetch)
                                  : "-",
          c.pp > 1 ? schedule : "-",
          search::nameOf(c.recompute),
          std::to_string(c.microBatches) + " x " + std::to_string(c.microBatchSamples),
          search::nameOf(c.order)};
}

std::vector<std::string> rowCells(const PlannedRow &row, const std::string &name) {
  std::vector<std::string> cells = {name};
  for (std::string &cell : choiceCells(row.scored.candidate))
    cells.push_back(std::move(cell));
  double seconds = row.scored.seconds;
  for (const std::string &cell :
       {bytesText(row.scored.bytes), plainSecondsText(seconds), percent(row.utilization),
        percent(row.breakdown.bubble / seconds), percent(row.breakdown.exposedCommunication() / seconds)})
    cells.push_back(cell);
  cells.push_back("|");
  if (!row.compiled) {
    cells.insert(cells.end(), 5, "");
    return cells;
  }
  cells.push_back(bytesText(row.compiled->arenaBytes));
  if (const std::optional<SimulatedTimes> &simulated = row.compiled->simulated) {
    for (const std::string &cell : {plainSecondsText(simulated->seconds), percent(simulated->utilization),
                                    percent(simulated->bubble / (1 + simulated->bubble)),
                                    percent(simulated->exposedSeconds / simulated->seconds)})
      cells.push_back(cell);
  } else {
    cells.insert(cells.end(), 4, "");
  }
  return cells;
}

bool hasCompiled(const PlannerReport &report) {
  auto isCompiled = [](const PlannedRow &row) { return row.compiled.has_value(); };
  return std::any_of(report.rows.begin(), report.rows.end(), isCompiled) ||
         (report.compared && isCompiled(*report.compared));
}

std::string tableText(const PlannerReport &report) {
  std::vector<std::vector<std::string>> rows = {
      {"",       "tp",     "pp",   "dp",  "zero",   "bucket",  "ahead", "schedule", "recompute", "micro-batches",
       "ranks",  "memory", "step", "MFU", "bubble", "exposed", "|",     "memory",   "step",      "MFU",
       "bubble", "exposed"}};
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    rows.push_back(rowCells(report.rows[i], std::to_string(i + 1)));
  if (report.compared)
    rows.push_back(rowCells(*report.compared, "compared"));
  if (!hasCompiled(report)) // nothing right of the bar
    for (std::vector<std::string> &row : rows)
      row.erase(std::find(row.begin(), row.end(), "|"), row.end());
  return alignedTable(rows);
}

/// "+310 ms (2.5%), +3.2 GiB: waiting for stages +420 ms, recomputation -110 ms".
std::string lossText(const PlannerReport &report, const search::Scored &plan) {
  const search::Scored &winner = report.rows.front().scored;
  search::Difference difference = differenceOf(report.problem, plan, winner);
  return signedSecondsText(difference.seconds) + " (" + (difference.seconds < 0 ? "" : "+") +
         percent(difference.seconds / winner.seconds) + "), " + signedBytesText(difference.bytes) + ": " +
         mainPartsText(difference);
}

/// What the simulator says beside the closed forms, of two plans that were compiled.
std::string simulatedLossText(const PlannedRow &winner, const PlannedRow &row) {
  if (!winner.compiled || !winner.compiled->simulated || !row.compiled || !row.compiled->simulated)
    return "";
  double seconds = row.seconds() - winner.seconds();
  return "; simulated " + signedSecondsText(seconds) + " (" + (seconds < 0 ? "" : "+") +
         percent(seconds / winner.seconds()) + ")";
}

std::string lossesText(const PlannerReport &report) {
  if (report.rows.size() < 2 && !report.compared)
    return "";
  std::string text = "\nwhat the others pay against 1, by closed forms:\n";
  for (std::size_t i = 1; i < report.rows.size(); ++i)
    text += "  " + std::to_string(i + 1) + ": " + lossText(report, report.rows[i].scored) +
            simulatedLossText(report.rows.front(), report.rows[i]) + "\n";
  if (report.compared) {
    bool isCompiled = report.compared->compiled.has_value();
    double missing = isCompiled ? 0 : report.compared->scored.bytes - report.comparedLimit.value_or(0);
    text += "  compared: " + lossText(report, report.compared->scored) +
            simulatedLossText(report.rows.front(), *report.compared) +
            (missing > 0 ? "; it does not fit, by " + bytesText(missing) : "") + "\n";
  }
  return text;
}

bool isRefused(const PlannerReport &report, const search::Scored &plan) {
  return std::any_of(report.refused.begin(), report.refused.end(),
                     [&](const RefusedRow &row) { return row.scored.candidate == plan.candidate; });
}

std::string alternativesText(const PlannerReport &report) {
  std::string text = "\nthe best of other kinds, beside 1:\n";
  const search::Scored &winner = report.rows.front().scored;
  for (std::size_t i = 0; i < search::alternatives.size(); ++i) {
    const search::Alternative &kind = search::alternatives[i];
    if (kind.holds(report.problem, winner.candidate))
      continue;
    const std::optional<search::Scored> &best = report.found.best[i];
    text += std::string("  ") + kind.name + ": " +
            (best ? plainSecondsText(best->seconds) + ", " + lossText(report, *best) + " [" +
                        shortText(best->candidate) + "]" + (isRefused(report, *best) ? "; refused, see below" : "")
                  : std::string("none is legal and fits")) +
            "\n";
  }
  return text;
}

/// "stage 0 needs 85.6 GiB, 6.93 GiB more than the limit", of an error that lists a cut's layers before, or advice
/// behind.
std::string shortReason(const std::string &reason) {
  std::string line = reason.substr(0, reason.find('\n'));
  std::size_t misfit = line.find("does not");
  std::size_t stage = line.find("stage ", misfit == std::string::npos ? 0 : misfit);
  return stage == std::string::npos ? line : line.substr(stage, line.find(';', stage) - stage);
}

/// What else was tried of the compiled rows.
std::string triedText(const PlannerReport &report) {
  std::string text;
  auto add = [&](const PlannedRow &row, const std::string &name) {
    for (const TriedPlan &tried : row.tried) {
      if (tried.candidate == row.scored.candidate)
        continue;
      text += "  " + name + " as " + shortText(tried.candidate) + ": " +
              (tried.refusal.empty() ? signedSecondsText(tried.seconds - row.seconds()) + ", " +
                                           signedBytesText(static_cast<double>(tried.bytes - row.compiled->arenaBytes))
                                     : shortReason(tried.refusal)) +
              "\n";
    }
  };
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    add(report.rows[i], std::to_string(i + 1));
  if (report.compared)
    add(*report.compared, "compared");
  return text.empty() ? "" : "\nother buckets, and parameters gathered earlier or later, simulated:\n" + text;
}

std::string refusedText(const PlannerReport &report) {
  std::string text;
  for (const RefusedRow &row : report.refused)
    text += "  " + shortText(row.scored.candidate) + ", " + bytesText(row.scored.bytes) + ": " +
            shortReason(row.reason) + "\n";
  return text.empty() ? "" : "\ncloser looks that the compiler refused:\n" + text;
}

std::string commandsText(const PlannerReport &report) {
  std::string text = "\ncommands:\n";
  for (std::size_t i = 0; i < report.rows.size(); ++i)
    text += "  " + std::to_string(i + 1) + ": " + report.rows[i].command + "\n";
  if (report.compared)
    text += "  compared: " + report.compared->command + "\n";
  return text;
}

std::string misfitText(const PlannerReport &report) {
  const search::Scored &closest = *report.closest;
  double missing = closest.bytes - report.problem.arenaLimit(closest.candidate);
  std::string text = "nothing fits: the closest needs " + bytesText(closest.bytes) + " a rank" +
                     (missing > 0 ? ", " + bytesText(missing) + " too many" : "") + " [" +
                     shortText(closest.candidate) + "]\n";
  cost::RankMemory memory = memoryOf(report.problem, closest.candidate);
  text += "  by closed forms " + bytesText(memory.stateBytes()) + " are weights, gradients and optimizer states, " +
          bytesText(memory.activationBytes) + " activations, " + bytesText(memory.workingBytes) +
          " its fullest moment\n";
  text += refusedText(report);
  bool onlyMemory = report.remedies.size() == 1 && report.remedies.front().change.starts_with("--memory-gib");
  if (report.remedies.empty() || onlyMemory)
    text += std::string(pinned(report.problem.pins).empty() ? "no more GPUs would do"
                                                            : "neither more GPUs nor fewer pinned choices would do") +
            ": the device is too small\n";
  if (report.remedies.empty())
    return text;
  text += std::string(onlyMemory ? "this" : "each of these alone") + " would do" +
          (report.request.exact > 0 ? ", as compiled:\n" : ", by closed forms:\n");
  for (const search::Remedy &remedy : report.remedies)
    text += "  " + remedy.change + ": " + bytesText(remedy.plan.bytes) + ", a step of " +
            plainSecondsText(remedy.plan.seconds) + " [" + shortText(remedy.plan.candidate) + "]\n";
  return text;
}

} // namespace

std::string plannerText(const PlannerReport &report) {
  std::string text = headText(report) + countsText(report.found);
  if (report.rows.empty())
    return text + misfitText(report);
  if (report.found.ranked.empty())
    text += "by closed forms nothing fits, but the compiled plan of what comes closest does\n";
  text += hasCompiled(report) ? "left of the bar closed forms, right of it the compiled plan and its simulated step\n"
                              : "by closed forms; none is compiled\n";
  text += "bubble (waiting for stages) and exposed communication are shares of the step\n";
  return text + "\n" + tableText(report) + lossesText(report) + alternativesText(report) + triedText(report) +
         refusedText(report) + commandsText(report);
}

} // namespace tgpt
