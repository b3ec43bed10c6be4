//===- Interleaved.cpp - one forward, one backward over chunks of the model ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// arXiv 2104.04473. Micro-batches go through chunk 0 in groups, then through chunk 1...;
// stage s of p begins with 2 * (p - s - 1) + (chunks - 1) * group forwards, and then does
// a forward and a backward in turn. For 2 stages of 2 chunks and 4 micro-batches (the
// second number is the chunk):
//
//   stage 0  F0   F1   F0.1 F1.1 F2   B0.1 F3   B1.1 F2.1 B0   F3.1 B1   .    B2.1 .    B3.1 B2   B3
//   stage 1  .    F0   F1   F0.1 B0.1 F1.1 B1.1 F2   B0   F3   B1   F2.1 B2.1 F3.1 B3.1 B2   B3   .
//
// The micro-batches need not be a multiple of the stages: the groups that are faster in
// unit times are taken, and of equal ones those that hold less.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/GreedyOrder.h"
#include <algorithm>

using namespace tgpt;

std::vector<WorkOrder> tgpt::orderInterleaved(const PipelineShape &shape) {
  std::optional<GreedyResult> best;
  for (const std::vector<int64_t> &groups : groupings(shape)) {
    ChunkOrder order(shape, groups);
    GreedyLimits limits;
    limits.mostAhead = interleavedAhead(shape, order);
    GreedyResult result = orderGreedily(shape, order, limits);
    if (!best || result.units < best->units)
      best = std::move(result);
  }
  return std::move(best->stages);
}
