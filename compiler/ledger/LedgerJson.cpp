//===- LedgerJson.cpp - the ledger for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/LedgerJson.h"
#include <cmath>

using namespace tgpt;
using Json = nlohmann::ordered_json;

/// Counts of bytes are whole where the formulas give whole ones.
static Json numberJson(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? Json(static_cast<int64_t>(value)) : Json(value);
}

static Json memoryJson(const cost::RankMemory &memory) {
  return {{"parameters", numberJson(memory.parameterBytes)},   {"gradients", numberJson(memory.gradientBytes)},
          {"optimizer", numberJson(memory.optimizerBytes)},    {"states", numberJson(memory.stateBytes())},
          {"activations", numberJson(memory.activationBytes)}, {"working", numberJson(memory.workingBytes)},
          {"total", numberJson(memory.totalBytes())}};
}

static Json statesJson(const Ledger &ledger) {
  Json states = Json::array();
  for (size_t zero = 0; zero < ledger.states.size(); ++zero) {
    const cost::RankMemory &memory = ledger.states[zero];
    states.push_back({{"zero", zero},
                      {"parameters", numberJson(memory.parameterBytes)},
                      {"gradients", numberJson(memory.gradientBytes)},
                      {"optimizer", numberJson(memory.optimizerBytes)},
                      {"together", numberJson(memory.stateBytes())}});
  }
  return states;
}

static Json activationsJson(const Ledger &ledger) {
  Json lines = Json::array();
  for (const ActivationLine &line : ledger.activations)
    for (bool isSequenceParallel : {false, true}) {
      const ActivationLine::Bytes &bytes = isSequenceParallel ? line.sequenceParallel : line.plain;
      lines.push_back({{"recompute", line.recompute},
                       {"sp", isSequenceParallel},
                       {"layer", numberJson(bytes.layer)},
                       {"in_flight", numberJson(bytes.stage)}});
    }
  return lines;
}

Json tgpt::ledgerObject(const Ledger &ledger) {
  const cost::Execution &run = ledger.request.run;
  const cost::MegatronEstimate &estimate = ledger.megatron;
  Json json = {{"model", ledger.request.model},
               {"parameters", numberJson(ledger.parameters)},
               {"dp", numberJson(run.dp)},
               {"pp", numberJson(run.pp)},
               {"tp", numberJson(run.tp)},
               {"zero", run.zero},
               {"recompute", recomputeName(run.recompute)},
               {"sp", run.sequenceParallel},
               {"fullest_stage", numberJson(ledger.stage)},
               {"rank_parameters", numberJson(ledger.rankParameters)},
               {"states", statesJson(ledger)}};
  if (!ledger.request.hasShape())
    return json;
  json["activations"] = activationsJson(ledger);
  json["layers_in_flight"] = numberJson(ledger.layersInFlight);
  json["together"] = memoryJson(ledger.together);
  json["kv_cache"] = numberJson(ledger.kvCacheBytes);
  json["megatron_estimate"] = {{"parameters", numberJson(estimate.parameters)},
                               {"states", numberJson(estimate.stateBytes())},
                               {"activations", numberJson(estimate.activationBytes)},
                               {"total", numberJson(estimate.totalBytes())}};
  return json;
}

Json tgpt::comparisonObject(const std::vector<ComparedStage> &stages) {
  Json array = Json::array();
  for (const ComparedStage &stage : stages) {
    Json parts = Json::array();
    for (const ComparedPart &part : stage.parts) {
      Json lines = Json::array();
      for (const DifferenceLine &line : part.lines)
        lines.push_back({{"bytes", numberJson(line.bytes)}, {"reason", line.reason}});
      parts.push_back({{"name", part.name},
                       {"formula", numberJson(part.formulaBytes)},
                       {"plan", numberJson(part.planBytes)},
                       {"differences", lines}});
    }
    array.push_back({{"stage", stage.stage},
                     {"formula", numberJson(stage.formulaBytes())},
                     {"plan", numberJson(stage.planBytes())},
                     {"parts", parts}});
  }
  return array;
}
