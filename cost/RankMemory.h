//===- RankMemory.h - bytes that a rank of a run needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed forms, for a search: the plan (docs/memory.md) knows the bytes exactly.
//
// States: parameters, gradients and optimizer states, sharded by ZeRO stage (arXiv
// 1910.02054, section 5). Activations of a layer: arXiv 2205.05198, equations 1 to 6, term
// by term, so that they also serve for SwiGLU, fewer key-value heads, no dropout and fused
// attention. How many micro-batches a stage holds follows from the schedule.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_RANKMEMORY_H
#define TGPT_COST_RANKMEMORY_H

#include "cost/Execution.h"
#include "cost/ModelShape.h"

namespace tgpt::cost {

struct RankMemory {
  double parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0;
  double activationBytes = 0; ///< saved from forward to backward, all micro-batches in flight
  double workingBytes = 0;    ///< what the fullest moment adds: a recomputed layer, logits, gathered parameters

  double stateBytes() const { return parameterBytes + gradientBytes + optimizerBytes; }
  double totalBytes() const { return stateBytes() + activationBytes + workingBytes; }
};

/// The states of so many parameters where `shards` ranks share one copy of what ZeRO `stage` shards.
RankMemory shardedStates(double parameters, int stage, double shards, const StateBytes &states);
/// Layers of a stage: the first stages hold one more where pp does not divide them. Where `lastChunkLayers` says what
/// the last chunk has, the last ones before it.
double layersOfStage(const ModelShape &shape, const Execution &run, double stage);
/// Layers that a cut leaves to the model's last chunk, so that the slowest chunk is fastest: head and loss take as long
/// as so many layers.
double lastChunkLayers(const ModelShape &shape, const Execution &run, double headLayers);
/// Parameters of one tp rank of a stage.
double stageParameters(const ModelShape &shape, const Execution &run, double stage);
/// What one layer saves of one micro-batch.
double layerActivationBytes(const ModelShape &shape, const Execution &run);
/// Layers' worth of saved activations that a stage holds at once: in-flight micro-batches times the layers of each.
double layersInFlight(const ModelShape &shape, const Execution &run, double stage);

/// Keys and values of so many sequences of `tokens` each, of all layers: what decoding keeps.
double kvCacheBytes(const ModelShape &shape, double sequences, double tokens, double elementBytes);

RankMemory rankMemory(const ModelShape &shape, const Execution &run, const StateBytes &states, double stage);
/// What kernels need beside their operands: products what the run gives them; norms, rope and the gradient of learned
/// positions by their shape (cost/KernelWorkspace.h).
double workspaceBytes(const ModelShape &shape, const Execution &run, double stage);
/// The fullest of the first two stages and the last ones: the second has one micro-batch less in flight than the first,
/// but may hold more layers.
RankMemory fullestRank(const ModelShape &shape, const Execution &run, const StateBytes &states);

} // namespace tgpt::cost

#endif // TGPT_COST_RANKMEMORY_H
