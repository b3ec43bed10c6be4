//===- MegatronEstimate.cpp - the figure that Megatron-LM prints before a run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/MegatronEstimate.h"
#include <algorithm>

namespace tgpt::cost {
namespace {

/// Layers are divided by pp whether it divides them or not, norms by tp although every rank has them whole; biases
/// and learned positions are not counted.
double countedParameters(const ModelShape &shape, const Execution &run) {
  double norm = shape.layerNorm ? 2 : 1;
  double attention = 2 * shape.hidden * shape.queryWidth() * (1 + shape.kvHeads / shape.heads);
  double mlp = (shape.gatedMlp ? 3 : 2) * shape.hidden * shape.ffnHidden;
  double block = shape.layers * (attention + mlp + 2 * norm * shape.hidden) + norm * shape.hidden;
  double tables = shape.tiedEmbedding || run.pp > 1 ? 1 : 2;
  return (block / run.pp + tables * shape.hidden * shape.vocabulary) / run.tp;
}

/// Micro-batches in flight on the first stage, over pp.
double shareInFlight(const Execution &run) {
  if (run.chunks > 1)
    return 1 + (run.pp - 1) / (run.pp * run.chunks);
  return run.pp > 1 ? std::min(1.0, run.microBatches / run.pp) : 1;
}

} // namespace

MegatronEstimate megatronEstimate(const ModelShape &shape, const Execution &run) {
  MegatronEstimate estimate;
  estimate.parameters = countedParameters(shape, run);
  estimate.bytesPerParameter = run.zero == 0 ? 18 : 6 + 12 / run.dp;
  estimate.isOfSequenceParallel =
      run.sequenceParallel && (run.recompute == Recompute::Attention || run.recompute == Recompute::Selective);
  double tokens = run.microBatch * shape.sequence;
  double embedding = tokens * run.pp * (8 + shape.hidden); // ids, and a byte of dropout's mask
  if (estimate.isOfSequenceParallel) {
    double layer = tokens * (18 * shape.hidden + 4 * shape.ffnHidden);
    double head = run.pp == 1 ? 4 * tokens * (shape.hidden + shape.vocabulary) : 0;
    estimate.activationBytes = ((shape.layers * layer + embedding) * shareInFlight(run) + head) / run.tp;
  } else {
    double layer = tokens * shape.hidden * (10 + 24 / run.tp);
    double head = run.pp == 1 ? 2 * tokens * (shape.hidden + shape.vocabulary / run.tp) : 0;
    estimate.activationBytes = 1.05 * ((shape.layers * layer + embedding) * shareInFlight(run) + head);
  }
  return estimate;
}

} // namespace tgpt::cost
