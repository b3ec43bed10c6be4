//===- Ledger.cpp - what a model of a shape needs, by closed formulas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/Ledger.h"

using namespace tgpt;
using cost::Execution;
using cost::Recompute;

const char *tgpt::recomputeName(Recompute recompute) {
  switch (recompute) {
  case Recompute::None: return "none";
  case Recompute::Attention: return "attention";
  case Recompute::Selective: return "selective";
  case Recompute::Cheap: return "cheap";
  case Recompute::Full: return "full";
  }
  return "";
}

static double fullestStage(const LedgerRequest &request) {
  double fullest = 0, most = -1;
  for (double stage = 0; stage < request.run.pp; ++stage) {
    double bytes = cost::rankMemory(request.shape, request.run, request.states, stage).totalBytes();
    if (bytes > most) {
      most = bytes;
      fullest = stage;
    }
  }
  return fullest;
}

static ActivationLine activationLine(const LedgerRequest &request, double stage, Recompute recompute) {
  auto bytesWith = [&](bool sequenceParallel) {
    Execution run = request.run;
    run.recompute = recompute;
    run.sequenceParallel = sequenceParallel;
    double layer = cost::layerActivationBytes(request.shape, run);
    return ActivationLine::Bytes{layer, layer * cost::layersInFlight(request.shape, run, stage)};
  };
  return {recomputeName(recompute), bytesWith(false), bytesWith(true)};
}

Ledger tgpt::ledgerOf(const LedgerRequest &request) {
  Ledger ledger;
  ledger.request = request;
  const Execution &run = request.run;
  ledger.parameters = request.hasShape() ? request.shape.parameters() : request.parameters;
  ledger.stage = request.hasShape() ? fullestStage(request) : 0;
  ledger.rankParameters = request.hasShape() ? cost::stageParameters(request.shape, run, ledger.stage)
                                             : request.parameters / (run.tp * run.pp);
  for (int zero = 0; zero < 4; ++zero)
    ledger.states[zero] = cost::shardedStates(ledger.rankParameters, zero, run.shardRanks(), request.states);
  ledger.together = ledger.states[run.zero];
  if (!request.hasShape())
    return ledger;
  for (Recompute mode : {Recompute::None, Recompute::Attention, Recompute::Selective, Recompute::Full})
    ledger.activations.push_back(activationLine(request, ledger.stage, mode));
  ledger.layersInFlight = cost::layersInFlight(request.shape, run, ledger.stage);
  ledger.together = cost::rankMemory(request.shape, run, request.states, ledger.stage);
  ledger.megatron = cost::megatronEstimate(request.shape, run);
  const KvCacheRequest &cache = request.kvCache;
  ledger.kvCacheBytes = cost::kvCacheBytes(request.shape, cache.sequences, cache.tokens, cache.elementBytes);
  return ledger;
}
