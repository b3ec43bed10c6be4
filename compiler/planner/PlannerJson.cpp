//===- PlannerJson.cpp - what the planner found, for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/PlannerText.h"
#include <nlohmann/json.hpp>

namespace tgpt {
namespace {

using Json = nlohmann::ordered_json;

Json choicesOf(const search::Candidate &c) {
  return {{"tp", c.tp},
          {"sp", c.sp},
          {"pp", c.pp},
          {"vpp", c.vpp},
          {"schedule", search::pipelineOrderNames[static_cast<std::size_t>(c.schedule)]},
          {"dp", c.dp},
          {"zero", c.zero},
          {"zero_group", c.zeroGroup},
          {"recompute", search::nameOf(c.recompute)},
          {"bucket_mib", c.bucketMib},
          {"overlap", c.overlap},
          {"prefetch", c.prefetch},
          {"rank_order", search::nameOf(c.order)},
          {"micro_batch_samples", c.microBatchSamples},
          {"micro_batches", c.microBatches}};
}

Json scoredOf(const search::Scored &scored) {
  return {{"choices", choicesOf(scored.candidate)}, {"seconds", scored.seconds}, {"bytes", scored.bytes}};
}

Json compiledOf(const CompiledPlan &compiled) {
  Json json = {{"bytes", compiled.arenaBytes}, {"compile_seconds", compiled.compileSeconds}};
  if (compiled.simulated)
    json.update({{"seconds", compiled.simulated->seconds},
                 {"mfu", compiled.simulated->utilization},
                 {"bubble", compiled.simulated->bubble},
                 {"exposed_seconds", compiled.simulated->exposedSeconds},
                 {"simulation_seconds", compiled.simulationSeconds}});
  return json;
}

Json rowOf(const PlannerReport &report, const PlannedRow &row) {
  Json json = scoredOf(row.scored);
  json["mfu"] = row.utilization;
  for (const search::TimePart &part : search::timePartsOf(row.breakdown))
    json["parts"][part.key] = part.seconds;
  Json &against = json["against_winner"];
  search::Difference difference = differenceOf(report.problem, row.scored, report.rows.front().scored);
  against = {{"seconds", difference.seconds}, {"bytes", difference.bytes}};
  for (const search::TimePart &part : difference.parts)
    against["parts"][part.key] = part.seconds;
  json["command"] = row.command;
  if (row.compiled)
    json["compiled"] = compiledOf(*row.compiled);
  for (const TriedPlan &tried : row.tried) {
    Json other = {{"choices", choicesOf(tried.candidate)}};
    if (tried.refusal.empty())
      other.update({{"bytes", tried.bytes}, {"seconds", tried.seconds}});
    else
      other["refusal"] = tried.refusal;
    json["tried"].push_back(other);
  }
  return json;
}

} // namespace

std::string plannerJson(const PlannerReport &report) {
  const search::SearchResult &found = report.found;
  Json json = {{"model", report.model.name},           {"parameters", report.model.parameters},
               {"cluster", report.cluster.name},       {"device", report.cluster.device.name},
               {"gpus", report.problem.gpus},          {"global_batch", report.problem.globalBatch},
               {"dtype", report.request.dtype},        {"memory_bytes", report.problem.memoryBytes},
               {"candidates", found.candidates},       {"evaluated", found.evaluated},
               {"search_seconds", found.searchSeconds}};
  for (std::size_t i = 0; i < search::refusalCount; ++i)
    json["refused"][search::refusalNames[i]] = found.refused[i];
  json["plans"] = Json::array();
  for (const PlannedRow &row : report.rows)
    json["plans"].push_back(rowOf(report, row));
  if (report.compared) {
    json["compared"] = rowOf(report, *report.compared);
    bool fitsByFormulas = report.request.exact == 0 && report.compared->scored.bytes <= *report.comparedLimit;
    json["compared"]["fits"] = report.compared->compiled || fitsByFormulas;
  }
  for (std::size_t i = 0; i < search::alternatives.size(); ++i)
    json["best_of"][search::alternatives[i].name] = found.best[i] ? scoredOf(*found.best[i]) : Json();
  for (const RefusedRow &row : report.refused) {
    Json refused = scoredOf(row.scored);
    refused["reason"] = row.reason;
    json["refused_by_compiler"].push_back(refused);
  }
  if (found.closest) {
    json["closest_misfit"] = {{"choices", choicesOf(found.closest->candidate)},
                              {"bytes", found.closest->bytes},
                              {"missing_bytes", found.missingBytes}};
  }
  if (report.closest)
    json["closest"] = {{"choices", choicesOf(report.closest->candidate)},
                       {"bytes", report.closest->bytes},
                       {"limit_bytes", report.problem.arenaLimit(report.closest->candidate)}};
  for (const search::Remedy &remedy : report.remedies) {
    Json fitting = scoredOf(remedy.plan);
    fitting["change"] = remedy.change;
    json["remedies"].push_back(fitting);
  }
  return json.dump(2) + "\n";
}

} // namespace tgpt
