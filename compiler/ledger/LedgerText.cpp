//===- LedgerText.cpp - the ledger for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats only. States are in GB (or MB), as papers have them; what has to fit is in GiB too.
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/Ledger.h"
#include "compiler/report/TextTable.h"
#include <cmath>
#include <cstdio>
#include <utility>

using namespace tgpt;

using Rows = std::vector<std::vector<std::string>>;

static std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, value == std::floor(value) ? "%.0f" : "%.2f", value);
  return text;
}

/// In GB, unless that would be a few hundredths of one, or a hundred thousand.
static std::string decimal(double bytes) {
  auto [unit, scale] = bytes >= 1e17                ? std::pair("PB", 1e15)
                       : bytes >= 1e14              ? std::pair("TB", 1e12)
                       : bytes == 0 || bytes >= 1e8 ? std::pair("GB", 1e9)
                       : bytes >= 1e5               ? std::pair("MB", 1e6)
                                                    : std::pair("kB", 1e3);
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s", bytes / scale, unit);
  return text;
}

static std::string binary(double bytes) {
  return bytesText(std::llround(bytes));
}

static std::string headerText(const Ledger &ledger) {
  const cost::ModelShape &shape = ledger.request.shape;
  const cost::Execution &run = ledger.request.run;
  std::string text = "ledger of " + ledger.request.model + ": " + number(ledger.parameters) + " parameters\n";
  if (ledger.request.hasShape())
    text += number(shape.layers) + " layers, hidden " + number(shape.hidden) + ", " + number(shape.heads) +
            " heads of " + number(shape.headDim) + ", " + number(shape.kvHeads) + " key-value heads, ffn " +
            number(shape.ffnHidden) + (shape.gatedMlp ? " (gated)" : "") + ", vocabulary " + number(shape.vocabulary) +
            ", sequence " + number(shape.sequence) + "\n";
  return text + "dp=" + number(run.dp) + " pp=" + number(run.pp) + " tp=" + number(run.tp) + ", micro-batch of " +
         number(run.microBatch) + ", " + number(run.microBatches) + " a step\n";
}

static std::string statesText(const Ledger &ledger) {
  const cost::StateBytes &states = ledger.request.states;
  std::string text = "weights, gradients and AdamW states of a rank: " + number(states.parameter) + "N + " +
                     number(states.gradient) + "N + " + number(states.optimizer()) +
                     "N bytes, N = " + number(ledger.rankParameters);
  if (ledger.request.run.pp > 1 && ledger.request.hasShape())
    text += " (stage " + number(ledger.stage) + ", the fullest)";
  Rows rows = {{"zero", "parameters", "gradients", "optimizer", "together", ""}};
  for (size_t zero = 0; zero < ledger.states.size(); ++zero) {
    const cost::RankMemory &memory = ledger.states[zero];
    rows.push_back({std::to_string(zero), decimal(memory.parameterBytes), decimal(memory.gradientBytes),
                    decimal(memory.optimizerBytes), decimal(memory.stateBytes()), binary(memory.stateBytes())});
  }
  return text + "\n" + alignedTable(rows);
}

static std::string activationsText(const Ledger &ledger) {
  const cost::Execution &run = ledger.request.run;
  Rows rows = {{"recompute", "a layer", "in flight"}};
  if (run.tp > 1)
    rows.front().insert(rows.front().end(), {"a layer with sp", "in flight with sp"});
  for (const ActivationLine &line : ledger.activations) {
    rows.push_back({line.recompute, binary(line.plain.layer), binary(line.plain.stage)});
    if (run.tp > 1)
      rows.back().insert(rows.back().end(), {binary(line.sequenceParallel.layer), binary(line.sequenceParallel.stage)});
  }
  return "activations of " + number(run.microBatch) + " x " + number(ledger.request.shape.sequence) + " tokens, " +
         number(ledger.layersInFlight) + " layers in flight (arXiv 2205.05198, equations 1 to 6; attention " +
         (run.fusedAttention ? "is fused: no scores are kept" : "keeps its scores") + ")\n" + alignedTable(rows);
}

static std::string kvCacheText(const Ledger &ledger) {
  const cost::ModelShape &shape = ledger.request.shape;
  const KvCacheRequest &cache = ledger.request.kvCache;
  return "KV cache of decoding, 2 L H D S B bytes: 2 x " + number(shape.layers) + " x " + number(shape.kvHeads) +
         " x " + number(shape.headDim) + " x " + number(cache.tokens) + " x " + number(cache.sequences) + " x " +
         number(cache.elementBytes) + " (" + cache.type + ") = " + decimal(ledger.kvCacheBytes) + ", " +
         binary(ledger.kvCacheBytes) + "\n";
}

static std::string togetherText(const Ledger &ledger) {
  const cost::RankMemory &memory = ledger.together;
  const cost::Execution &run = ledger.request.run;
  return "together, zero=" + std::to_string(run.zero) + " recompute=" + recomputeName(run.recompute) +
         (run.sequenceParallel ? " sp" : "") + ": states " + binary(memory.stateBytes()) + " + activations " +
         binary(memory.activationBytes) + " + at work " + binary(memory.workingBytes) + " = " +
         decimal(memory.totalBytes()) + ", " + binary(memory.totalBytes()) + "\n";
}

/// What its estimate leaves out, as far as it matters here.
static std::string megatronText(const Ledger &ledger) {
  const cost::MegatronEstimate &estimate = ledger.megatron;
  const cost::ModelShape &shape = ledger.request.shape;
  const cost::Execution &run = ledger.request.run;
  std::string text = "Megatron-LM's estimate of the first stage: states " + binary(estimate.stateBytes()) +
                     " + activations " + binary(estimate.activationBytes) + " = " + decimal(estimate.totalBytes()) +
                     ", " + binary(estimate.totalBytes()) + "\n";
  auto because = [&](bool holds, const std::string &reason) { text += holds ? "  " + reason + "\n" : ""; };
  because(true, "it counts " + number(estimate.bytesPerParameter) + " bytes a parameter: gradients in 32 bits" +
                    (run.zero > 0 ? ", AdamW's 12 over dp" : ""));
  because(run.zero >= 2, "it knows no ZeRO beyond stage 1");
  because(run.recompute == cost::Recompute::Full, "it knows no full recomputation");
  because(!estimate.isOfSequenceParallel,
          "without sp and selective recomputation its layer is s b h (10 + 24/tp) bytes, and 5% are added");
  because(!estimate.isOfSequenceParallel && shape.ffnHidden != 4 * shape.hidden,
          "its MLP is 4 h wide, this one " + number(shape.ffnHidden / shape.hidden) + " h");
  because(shape.gatedMlp, "a gated MLP keeps three results, it counts one input and one result");
  because(shape.kvHeads != shape.heads,
          "it keeps keys and values of " + number(shape.heads) + " heads, there are " + number(shape.kvHeads));
  because(!shape.dropout, "it keeps dropout's masks, there is no dropout");
  because(run.pp > 1 && std::fmod(shape.layers, run.pp) != 0,
          number(shape.layers) + " layers are divided evenly over " + number(run.pp) + " stages");
  because(run.pp > 1, "logits are left out where there is more than one stage");
  return text;
}

std::string tgpt::ledgerText(const Ledger &ledger) {
  std::string text = headerText(ledger) + statesText(ledger);
  if (ledger.request.hasShape())
    text += activationsText(ledger) + togetherText(ledger) + kvCacheText(ledger) + megatronText(ledger);
  return text;
}
