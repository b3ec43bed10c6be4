//===- CachingAllocator.cpp - what PyTorch's allocator makes of a program's memory ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/CachingAllocator.h"
#include <algorithm>

namespace tgpt::validation {

double reservedBytes(const cost::ModelShape &shape, const cost::Execution &run, const cost::StateBytes &states) {
  double tokens = run.microBatch * shape.sequence / run.cp;
  cost::RankMemory memory = cost::rankMemory(shape, run, states, 0);
  // The loss's blocks are larger than any that a layer has freed, so they lie beside those.
  double loss = states.logit * tokens * shape.vocabulary / run.tp;
  // Embedding and head stay gathered for the step; a collective writes a buffer of its own stream, from which they are
  // copied. Of layers, the one at work and the next.
  double ends = (shape.embeddingParameters() + shape.headParameters()) / run.tp,
         layer = shape.layerParameters() / run.tp;
  double gathered = 2 * run.elementBytes * (ends + 2 * layer);
  // What a forward leaves of a layer: gate, up and their product, and under tensor parallelism the gathered input and
  // the partial result, both as long as the whole sequence. The head's gathered input is kept for its backward.
  double forward = run.elementBytes * tokens * (shape.gatedMlp ? 3 : 2) * shape.ffnHidden / run.tp;
  if (run.tp > 1)
    forward += 3 * run.elementBytes * tokens * shape.hidden;
  return memory.stateBytes() + memory.activationBytes + loss + gathered + forward;
}

double remapSeconds(const cost::ModelShape &shape, const cost::Execution &run, const cost::StateBytes &states,
                    const AllocatorEdge &edge) {
  if (edge.poolLayers <= 0 || run.zero < 3)
    return 0;
  double layer = run.elementBytes * shape.layerParameters() / run.tp;
  double free = edge.capacityBytes - cost::fullestRank(shape, run, states).totalBytes();
  double missing = std::clamp(edge.poolLayers - free / layer, 0.0, 1.0); // no more than the layer that is asked for
  return 2 * shape.layers / run.pp * run.microBatches * missing * layer / edge.remapBytesPerSecond;
}

} // namespace tgpt::validation
