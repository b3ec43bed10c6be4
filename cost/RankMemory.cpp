//===- RankMemory.cpp - bytes that a rank of a run needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/RankMemory.h"
#include <algorithm>
#include <cmath>

namespace tgpt::cost {
namespace {

double tokens(const ModelShape &shape, const Execution &run) {
  return run.microBatch * shape.sequence / run.cp;
}

/// The keys' and values' width on a rank: with more tp ranks than heads, each has one.
double keyValueWidth(const ModelShape &shape, const Execution &run) {
  return std::max(shape.keyValueWidth() / run.tp, shape.headDim);
}

/// What a layer saves where nothing is recomputed, less the core of attention.
double savedWithoutCore(const ModelShape &shape, const Execution &run) {
  // Norms' inputs and results, the residual dropouts' masks: whole on every tp rank, unless along the sequence.
  double whole = (4 + 4 + (shape.dropout ? 2 : 0)) * shape.hidden / (run.sequenceParallel ? run.tp : 1);
  // q, k, v, the weighted sum; GELU's input and result, or gate, up and their product.
  double sharded = (2 + 2) * shape.queryWidth() + (shape.gatedMlp ? 6 : 4) * shape.ffnHidden;
  return tokens(shape, run) * (whole + sharded / run.tp + 4 * keyValueWidth(shape, run)) * run.elementBytes / 2;
}

/// The same where norms, activations and the core of attention are computed again: the inputs of the norms, q, k and v,
/// and what the activation reads.
double savedSelectively(const ModelShape &shape, const Execution &run) {
  double residual = shape.hidden / (run.sequenceParallel ? run.tp : 1);
  double sharded = shape.queryWidth() + (shape.gatedMlp ? 2 : 1) * shape.ffnHidden;
  double masks = (shape.dropout ? 2 : 0) * residual; // a byte each
  double elements = 2 * residual + sharded / run.tp + 2 * keyValueWidth(shape, run);
  return tokens(shape, run) * (elements * run.elementBytes + masks);
}

/// Softmax, and dropout's mask and result; fused attention saves a 32-bit logarithm per row and head.
double savedByCore(const ModelShape &shape, const Execution &run) {
  double rows = tokens(shape, run) * shape.heads / run.tp;
  return run.fusedAttention ? 4 * rows : (shape.dropout ? 5 : 2) * rows * shape.sequence;
}

} // namespace

RankMemory shardedStates(double parameters, int stage, double shards, const StateBytes &states) {
  RankMemory memory;
  memory.parameterBytes = states.parameter * parameters / (stage >= 3 ? shards : 1);
  memory.gradientBytes = states.gradient * parameters / (stage >= 2 ? shards : 1);
  memory.optimizerBytes = states.optimizer() * parameters / (stage >= 1 ? shards : 1);
  return memory;
}

double layersOfStage(const ModelShape &shape, const Execution &run, double stage) {
  if (run.edgeStagesShorter) {
    double slots = (shape.layers + 2) / run.pp;
    return slots - (stage == 0) - (stage == run.pp - 1);
  }
  return stage < std::fmod(shape.layers, run.pp) ? std::ceil(shape.layers / run.pp) : std::floor(shape.layers / run.pp);
}

double stageParameters(const ModelShape &shape, const Execution &run, double stage) {
  bool first = stage == 0, last = stage == run.pp - 1;
  double vocabulary = shape.vocabulary * shape.hidden;
  // Matrices are sharded over tp; norms, the biases after a row-parallel product, and positions are whole on every
  // rank.
  double whole = 2 * (shape.layerNorm ? 2 : 1) * shape.hidden + (shape.biases ? 2 * shape.hidden : 0) +
                 (shape.qkNorm ? 2 * shape.headDim : 0);
  double parameters = layersOfStage(shape, run, stage) * ((shape.layerParameters() - whole) / run.tp + whole);
  if (first)
    parameters += vocabulary / run.tp + shape.learnedPositions * shape.hidden;
  if (last)
    parameters += shape.finalNormParameters();
  // A tied head has a copy of its own where the embedding is on another stage.
  if (last && (!shape.tiedEmbedding || !first))
    parameters += vocabulary / run.tp;
  return parameters;
}

double layerActivationBytes(const ModelShape &shape, const Execution &run) {
  double input = run.elementBytes * tokens(shape, run) * shape.hidden / (run.sequenceParallel ? run.tp : 1);
  double withoutCore = savedWithoutCore(shape, run), all = withoutCore + savedByCore(shape, run);
  switch (run.recompute) {
  case Recompute::None: return all;
  case Recompute::Attention: return run.fusedAttention ? all : withoutCore;
  case Recompute::Selective: return savedSelectively(shape, run);
  case Recompute::Cheap: {
    // The input, the results of half of the products, and what attention's backward needs.
    double products = shape.queryWidth() + 2 * shape.keyValueWidth() + (shape.gatedMlp ? 2 : 1) * shape.ffnHidden;
    double results = tokens(shape, run) * (products / run.tp + 2 * shape.hidden / (run.sequenceParallel ? run.tp : 1));
    return input + results + 2 * tokens(shape, run) * shape.queryWidth() / run.tp + savedByCore(shape, run);
  }
  case Recompute::Full: return run.recomputedLayers * input + (1 - run.recomputedLayers) * all;
  }
  return all;
}

double layersInFlight(const ModelShape &shape, const Execution &run, double stage) {
  double layers = layersOfStage(shape, run, stage), after = run.pp - 1 - stage;
  if (run.held.first.kept > 0)
    return layers * run.held.of(stage, run.pp).kept;
  switch (run.schedule) {
  case Schedule::GPipe: return run.microBatches * layers;
  case Schedule::OneF1B:
  case Schedule::ZeroBubbleH1: return std::min(run.microBatches, after + 1) * layers;
  case Schedule::ZeroBubbleH2: return std::min(run.microBatches, 2 * after + 1) * layers;
  case Schedule::Interleaved: {
    // Chunks warmed up before the first backward (Megatron-LM's schedule), and the one then computed.
    double warmUp = 2 * after + (run.chunks - 1) * run.pp;
    return std::min(run.microBatches * run.chunks, warmUp + 1) * layers / run.chunks;
  }
  }
  return layers;
}

double kvCacheBytes(const ModelShape &shape, double sequences, double tokens, double elementBytes) {
  return 2 * shape.layers * shape.kvHeads * shape.headDim * tokens * sequences * elementBytes;
}

RankMemory rankMemory(const ModelShape &shape, const Execution &run, const StateBytes &states, double stage) {
  RankMemory memory = shardedStates(stageParameters(shape, run, stage), run.zero, run.shardRanks(), states);
  double layer = layerActivationBytes(shape, run);
  memory.activationBytes = layersInFlight(shape, run, stage) * layer;
  // What products read and the gradients of their results, as much as is saved where nothing is recomputed, in place of
  // what the backward has used up.
  if (run.keepsForWeightGradients)
    memory.activationBytes += layersOfStage(shape, run, stage) * run.held.of(stage, run.pp).waiting *
                              std::max(0.0, savedWithoutCore(shape, run) - layer);
  // A recomputed layer is whole for the time of its backward.
  if (run.recompute != Recompute::None && !run.keepsForWeightGradients)
    memory.workingBytes = std::max(0.0, savedWithoutCore(shape, run) + savedByCore(shape, run) - layer);
  if (stage == run.pp - 1) {
    // The layers' working set is free at that moment.
    double logits = states.logit * tokens(shape, run) * shape.vocabulary / run.tp;
    memory.workingBytes = std::max(memory.workingBytes, logits);
  }
  if (run.zero >= 3) {
    // The layer at work and those gathered ahead of it, and the gradients of one.
    double gathered = shape.layerParameters() / run.tp;
    memory.workingBytes += ((1 + run.gathersAhead) * run.elementBytes + states.gradient) * gathered;
  }
  return memory;
}

RankMemory fullestRank(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  RankMemory fullest = rankMemory(shape, run, states, 0);
  for (double stage : {1.0, run.pp - 1}) {
    if (stage >= run.pp)
      continue;
    RankMemory memory = rankMemory(shape, run, states, stage);
    if (memory.totalBytes() > fullest.totalBytes())
      fullest = memory;
  }
  return fullest;
}

} // namespace tgpt::cost
