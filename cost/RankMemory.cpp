//===- RankMemory.cpp - bytes that a rank of a run needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/RankMemory.h"
#include "cost/KernelWorkspace.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tgpt::cost {
namespace {

double tokens(const ModelShape &shape, const Execution &run) {
  return run.microBatch * shape.sequence / run.cp;
}

/// The keys' and values' width on a rank: with more tp ranks than heads, each has one.
double keyValueWidth(const ModelShape &shape, const Execution &run) {
  return std::max(shape.keyValueWidth() / run.tp, shape.headDim);
}

/// Elements of queries and keys that head norms read: what rope reads is their result.
double headNormWidth(const ModelShape &shape, const Execution &run) {
  return shape.qkNorm ? shape.queryWidth() / run.tp + keyValueWidth(shape, run) : 0;
}

/// What a layer saves where nothing is recomputed, less the core of attention.
double savedWithoutCore(const ModelShape &shape, const Execution &run) {
  // Norms' inputs and results, the residual dropouts' masks: whole on every tp rank, unless along the sequence.
  double whole = (4 + 4 + (shape.dropout ? 2 : 0)) * shape.hidden / (run.sequenceParallel ? run.tp : 1);
  // q, k, v, the weighted sum; GELU's input and result, or gate, up and their product.
  double sharded = (2 + 2) * shape.queryWidth() + (shape.gatedMlp ? 6 : 4) * shape.ffnHidden;
  double heads = 4 * keyValueWidth(shape, run) + 2 * headNormWidth(shape, run);
  return tokens(shape, run) * (whole + sharded / run.tp + heads) * run.elementBytes / 2;
}

/// The same where norms, activations and the core of attention are computed again: the inputs of the norms, q, k and v,
/// and what the activation reads.
double savedSelectively(const ModelShape &shape, const Execution &run) {
  double residual = shape.hidden / (run.sequenceParallel ? run.tp : 1);
  double sharded = shape.queryWidth() + (shape.gatedMlp ? 2 : 1) * shape.ffnHidden;
  double masks = (shape.dropout ? 2 : 0) * residual; // a byte each
  double elements = 2 * residual + sharded / run.tp + 2 * keyValueWidth(shape, run) + headNormWidth(shape, run);
  return tokens(shape, run) * (elements * run.elementBytes + masks);
}

/// Softmax, and dropout's mask and result; fused attention saves a 32-bit logarithm per row and head.
double savedByCore(const ModelShape &shape, const Execution &run) {
  double rows = tokens(shape, run) * shape.heads / run.tp;
  return run.fusedAttention ? 4 * rows : (shape.dropout ? 5 : 2) * rows * shape.sequence;
}

} // namespace

double workspaceBytes(const ModelShape &shape, const Execution &run, double stage) {
  constexpr int64_t sumBytes = 4;
  auto whole = [](double count) { return static_cast<int64_t>(count); };
  double pieces = run.sequenceParallel ? run.tp : 1;
  int64_t rows = whole(tokens(shape, run) / pieces);
  int64_t most = normGradWorkspace(shape.layerNorm ? 2 : 1, rows, whole(shape.hidden), 1, 0, sumBytes);
  if (shape.learnedPositions == 0)
    most = std::max(most, ropeWorkspace(whole(shape.sequence), whole(shape.headDim), sumBytes));
  else if (stage == 0)
    most = std::max(
        most, columnSumWorkspace(whole(run.microBatch), whole(shape.sequence * shape.hidden / pieces), 0, sumBytes));
  return std::max(run.productWorkspaceBytes, static_cast<double>(most));
}

RankMemory shardedStates(double parameters, int stage, double shards, const StateBytes &states) {
  RankMemory memory;
  memory.parameterBytes = states.parameter * parameters / (stage >= 3 ? shards : 1);
  memory.gradientBytes = states.gradient * parameters / (stage >= 2 ? shards : 1);
  memory.optimizerBytes = states.optimizer() * parameters / (stage >= 1 ? shards : 1);
  return memory;
}

double lastChunkLayers(const ModelShape &shape, const Execution &run, double headLayers) {
  double others = run.pp * run.chunks - 1, most = std::floor(shape.layers / (others + 1));
  if (others < 1)
    return -1;
  double best = most, slowest = std::numeric_limits<double>::infinity();
  for (double layers = most; layers >= (run.chunks > 1 ? 0 : 1); --layers) {
    double time = std::max(layers + headLayers, std::ceil((shape.layers - layers) / others));
    if (time < slowest) {
      slowest = time;
      best = layers;
    }
  }
  return best;
}

/// Of a cut whose last chunk has a number of its own.
static double layersOfCut(const ModelShape &shape, const Execution &run, double stage) {
  double others = run.pp * run.chunks - 1, rest = shape.layers - run.lastChunkLayers;
  double fewest = std::floor(rest / others), fuller = rest - fewest * others; // the last ones have a layer more
  bool isLast = stage == run.pp - 1;
  double chunks = run.chunks - isLast;
  double firstFuller = std::max(0.0, std::ceil((others - fuller - stage) / run.pp));
  return chunks * fewest + std::max(0.0, chunks - firstFuller) + (isLast ? run.lastChunkLayers : 0);
}

double layersOfStage(const ModelShape &shape, const Execution &run, double stage) {
  if (run.lastChunkLayers >= 0)
    return layersOfCut(shape, run, stage);
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
  // With more tp ranks than key-value heads, several hold the same one.
  double keysAndValues = 2 * (shape.hidden + (shape.biases ? 1 : 0));
  double sharded = shape.layerParameters() - whole - keysAndValues * shape.keyValueWidth();
  double layer = sharded / run.tp + keysAndValues * keyValueWidth(shape, run) + whole;
  double parameters = layersOfStage(shape, run, stage) * layer;
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

namespace {

/// What a layer keeps of a micro-batch whose weight gradients wait: what its products have read, and the gradients of
/// their results. With sequence parallelism the gradients of the row-parallel ones are gathered; biases' read them too.
double waitingLayerBytes(const ModelShape &shape, const Execution &run) {
  double residual = shape.hidden / (run.sequenceParallel ? run.tp : 1), activation = shape.ffnHidden / run.tp;
  double query = shape.queryWidth() / run.tp, keyValue = keyValueWidth(shape, run);
  double inputs = 2 * residual + query + activation;
  double gradients = 2 * residual + query + 2 * keyValue + (shape.gatedMlp ? 2 : 1) * activation;
  double gathered = run.sequenceParallel ? (shape.biases ? 2 : 1) * shape.hidden : 0;
  return run.elementBytes * tokens(shape, run) * (inputs + gradients + gathered);
}

/// What the layers of a stage keep of its micro-batches in flight; what waits for weight gradients only where the very
/// schedule is known.
double keptByLayers(const ModelShape &shape, const Execution &run, double stage) {
  double layers = layersOfStage(shape, run, stage), layer = layerActivationBytes(shape, run);
  if (!run.keepsForWeightGradients || run.held.first.kept == 0)
    return layersInFlight(shape, run, stage) * layer;
  // Micro-batches before their backward, and those that wait. The one in its backward is of both: it uses up the one
  // as it makes the other. No more than slots that hold either.
  HeldMicroBatches::OfStage held = run.held.of(stage, run.pp);
  double before = std::min(run.microBatches, run.pp - stage), waits = waitingLayerBytes(shape, run);
  double paged = before * layer + held.waiting * waits - std::min(layer, waits);
  return layers * std::min(paged, held.kept * std::max(layer, waits));
}

/// What a recomputed layer adds for the time of its backward, when it is whole.
double recomputedAtOnce(const ModelShape &shape, const Execution &run) {
  if (run.recompute == Recompute::None || run.keepsForWeightGradients)
    return 0;
  return std::max(0.0, savedWithoutCore(shape, run) + savedByCore(shape, run) - layerActivationBytes(shape, run));
}

/// The layer at work and those gathered ahead of it, and the gradients of one.
double gatheredLayers(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  if (run.zero < 3)
    return 0;
  return ((1 + run.gathersAhead) * run.elementBytes + states.gradient) * shape.layerParameters() / run.tp;
}

double logitBytes(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  return states.logit * tokens(shape, run) * shape.vocabulary / run.tp;
}

/// The residual stream of a micro-batch on a rank, and whole.
double residualBytes(const ModelShape &shape, const Execution &run) {
  return run.elementBytes * tokens(shape, run) * shape.hidden / (run.sequenceParallel ? run.tp : 1);
}
double wholeResidualBytes(const ModelShape &shape, const Execution &run) {
  return run.elementBytes * tokens(shape, run) * shape.hidden;
}

/// Messages that wait to be taken, both ways: of each chunk but the model's first and last one. The last stage's wait
/// for a group of micro-batches to come round.
double messageBytes(const ModelShape &shape, const Execution &run, double stage) {
  if (run.pp <= 1)
    return 0;
  bool isLast = stage == run.pp - 1;
  double channels = 2 * run.chunks - (stage == 0 || isLast);
  double depth = isLast && run.chunks > 1 && run.microBatches > run.pp ? 2 : 1;
  return channels * depth * residualBytes(shape, run);
}

/// Micro-batches of which the last stage holds the logits: with chunks a backward follows its forward at once.
double logitsInFlight(const Execution &run) {
  return run.chunks > 1 && run.schedule != Schedule::GPipe ? 1 : std::max(1.0, run.held.last.kept);
}

/// What is on its way through the layer whose backward runs: gradients of the residual stream and of the products'
/// inputs, with sequence parallelism gathered and before they are scattered, and the gradients of its weights where
/// they are reduced at once.
double passingLayer(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  double whole = wholeResidualBytes(shape, run), residual = residualBytes(shape, run);
  double passing = residual + 2 * whole + (run.sequenceParallel ? residual + run.gathersAhead * whole : 0);
  double activation = run.elementBytes * tokens(shape, run) * shape.ffnHidden / run.tp;
  if (run.recompute != Recompute::None)
    passing += (shape.gatedMlp ? 2 : 1) * activation;
  double bucket = run.zero == 2 ? states.gradient * shape.layerParameters() / run.tp : 0;
  return passing + bucket;
}

/// The same of the head, the gradient of its weights too.
double passingHead(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  double whole = wholeResidualBytes(shape, run);
  double weights = shape.vocabulary * shape.hidden / run.tp;
  return (run.sequenceParallel ? 2 + 2 * run.gathersAhead : 1) * whole +
         (run.zero >= 2 ? states.gradient : 0) * weights;
}

/// With all that passes through a rank and the workspace of its kernels, as the compiler's plans hold it.
RankMemory plannedMemory(const ModelShape &shape, const Execution &run, const StateBytes &states, double stage) {
  RankMemory memory = shardedStates(stageParameters(shape, run, stage), run.zero, run.shardRanks(), states);
  memory.activationBytes = keptByLayers(shape, run, stage);
  memory.workingBytes = recomputedAtOnce(shape, run) + passingLayer(shape, run, states);
  memory.workingBytes += gatheredLayers(shape, run, states);
  if (stage == run.pp - 1) {
    double logits = logitBytes(shape, run, states), inFlight = logitsInFlight(run);
    double ends = logits + 2 * residualBytes(shape, run); // with the final norm's input and result
    memory.activationBytes += inFlight * ends;
    // A layer runs when the micro-batch's own are used up, unless their gradients wait.
    double free = run.keepsForWeightGradients ? 0 : ends;
    memory.workingBytes = std::max(memory.workingBytes - free, passingHead(shape, run, states));
  }
  memory.workingBytes += messageBytes(shape, run, stage) + workspaceBytes(shape, run, stage);
  return memory;
}

} // namespace

RankMemory rankMemory(const ModelShape &shape, const Execution &run, const StateBytes &states, double stage) {
  if (run.countsPassing)
    return plannedMemory(shape, run, states, stage);
  RankMemory memory = shardedStates(stageParameters(shape, run, stage), run.zero, run.shardRanks(), states);
  memory.activationBytes = keptByLayers(shape, run, stage);
  memory.workingBytes = recomputedAtOnce(shape, run);
  if (stage == run.pp - 1) // the layers' working set is free at that moment
    memory.workingBytes = std::max(memory.workingBytes, logitBytes(shape, run, states));
  memory.workingBytes += gatheredLayers(shape, run, states);
  return memory;
}

RankMemory fullestRank(const ModelShape &shape, const Execution &run, const StateBytes &states) {
  RankMemory fullest = rankMemory(shape, run, states, 0);
  // Where stages before the last hold as many micro-batches as the second, that before it may have more layers.
  bool isAlike = run.lastChunkLayers >= 0 && (run.chunks > 1 || run.schedule != Schedule::OneF1B);
  for (double stage : {1.0, isAlike ? run.pp - 2 : 1.0, run.pp - 1}) {
    if (stage >= run.pp || stage < 1)
      continue;
    RankMemory memory = rankMemory(shape, run, states, stage);
    if (memory.totalBytes() > fullest.totalBytes())
      fullest = memory;
  }
  return fullest;
}

} // namespace tgpt::cost
