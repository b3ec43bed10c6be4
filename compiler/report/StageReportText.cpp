//===- StageReportText.cpp - where a model was cut, for people and programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats only; dist-choose-stages took the figures down when it decided.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/StageReportText.h"
#include "compiler/report/TextTable.h"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tgpt;

static std::string percentText(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return text;
}

static double shareOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : double(part) / double(whole);
}

static std::string leastLine(const StageSummary &summary) {
  int64_t slowest = summary.cut.greatestNanoseconds(), least = summary.leastNanoseconds;
  auto isFaster = [](const RankCost &a, const RankCost &b) { return a.nanoseconds() < b.nanoseconds(); };
  auto rank = std::max_element(summary.cut.ranks.begin(), summary.cut.ranks.end(), isFaster);
  return "slowest: stage " + std::to_string(rank - summary.cut.ranks.begin()) + " with " + secondsText(slowest) + ", " +
         percentText(shareOf(slowest - least, least)) + " above the least of all cuts, memory aside (" +
         secondsText(least) + "; mean of the stages " + secondsText(summary.meanNanoseconds) + ", longest part " +
         secondsText(summary.longestPartNanoseconds) + ")\n";
}

std::string tgpt::stageReportText(const std::string &model, StageSummary summary,
                                  const std::vector<int64_t> &arenaBytes) {
  std::string text = "stages of " + model + " on " + summary.device + ", a micro-batch";
  if (summary.limitBytes > 0)
    text += ", limit of a rank " + bytesText(summary.limitBytes);
  std::vector<std::vector<std::string>> rows = {{"stage", "layers", "slots", "forward", "backward", "together",
                                                 "of slowest", "parameters", "states", "activations", "scratch",
                                                 "messages", "total"}};
  if (summary.countsCollectives)
    rows.front().insert(rows.front().begin() + 6, "collectives");
  if (!arenaBytes.empty())
    rows.front().push_back("planned");
  for (int64_t stage = 0; stage < summary.stages(); ++stage) {
    const RankCost &rank = summary.cut.ranks[stage];
    rows.push_back({std::to_string(stage), ofChunks(summary.cut.layers, stage, summary.stages()),
                    ofChunks(summary.slots, stage, summary.stages()), secondsText(rank.forwardNanoseconds),
                    secondsText(rank.backwardNanoseconds), secondsText(rank.nanoseconds()),
                    percentText(shareOf(rank.nanoseconds(), summary.cut.greatestNanoseconds())),
                    bytesText(rank.state.parameters), bytesText(rank.state.gradients + rank.state.optimizer),
                    bytesText(rank.activationBytes), bytesText(rank.scratchBytes), bytesText(rank.messageBytes),
                    bytesText(rank.bytes())});
    if (summary.countsCollectives)
      rows.back().insert(rows.back().begin() + 6, secondsText(rank.collectiveNanoseconds));
    if (!arenaBytes.empty())
      rows.back().push_back(bytesText(arenaBytes[stage]));
  }
  return text + "\n" + alignedTable(rows) + leastLine(summary) + "times: rooflines of kernels, " +
         (summary.countsCollectives ? "and what collectives take on the cluster's links beyond what hides them"
                                    : "collectives left out") +
         "; bytes: as known when the model was cut" + (arenaBytes.empty() ? "" : ", planned: the arena") + "\n";
}

std::string tgpt::stageReportJson(const std::string &model, StageSummary summary,
                                  const std::vector<int64_t> &arenaBytes) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (int64_t stage = 0; stage < summary.stages(); ++stage) {
    std::vector<int64_t> layers, slots;
    for (size_t v = stage; v < summary.cut.layers.size(); v += summary.stages()) {
      layers.push_back(summary.cut.layers[v]);
      slots.push_back(summary.slots[v]);
    }
    nlohmann::ordered_json row = {{"stage", stage}, {"layers", layers}, {"slots", slots}};
    RankCost &rank = summary.cut.ranks[stage];
    for (const RankFigure &figure : rankFigures())
      row[figure.name] = figure.of(rank);
    row["nanoseconds"] = rank.nanoseconds();
    row["bytes"] = rank.bytes();
    if (!arenaBytes.empty())
      row["planned_bytes"] = arenaBytes[stage];
    stages.push_back(row);
  }
  nlohmann::ordered_json json = {{"model", model},
                                 {"device", summary.device},
                                 {"limit_bytes", summary.limitBytes},
                                 {"slowest_nanoseconds", summary.cut.greatestNanoseconds()},
                                 {"least_nanoseconds", summary.leastNanoseconds},
                                 {"mean_nanoseconds", summary.meanNanoseconds},
                                 {"longest_part_nanoseconds", summary.longestPartNanoseconds},
                                 {"stages", stages}};
  return json.dump(2) + "\n";
}
