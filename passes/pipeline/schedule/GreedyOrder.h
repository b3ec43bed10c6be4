//===- GreedyOrder.h - schedules by running the pipeline once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no formula gives the order, all stages are run in unit times and what each does is
// its schedule: a forward if one is ready and allowed, else a backward, else a weight
// gradient. Forwards and backwards come in the order of a ChunkOrder; the limits say when a
// forward is allowed.
//
// It never stops short. Say every stage waits. Of the stages that are furthest behind in
// their forwards take the first: its next forward, number i, is ready, since what it needs
// is done on the stages before or earlier in the order. So a limit keeps it back. Of those
// furthest behind in their backwards take the last: its next backward, number j, lacks only
// its own forward, which therefore is number i or later. Hence the stage that is kept back
// has at most i - j <= leastAhead() - 1 forwards ahead of its backwards, which every limit
// allows. The same count for the forwards of one chunk gives what a stage must be able to
// hold. Where weight gradients hold memory, one of them is ready.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_GREEDYORDER_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_GREEDYORDER_H

#include "passes/pipeline/schedule/WorkOrder.h"

namespace tgpt {

struct GreedyLimits {
  std::vector<int64_t> mostAhead; ///< per stage: forwards ahead of backwards; at least ChunkOrder::leastAhead()
  bool splitsBackward = false;    ///< weight gradients are entries of their own
  /// Per stage and chunk: micro-batches between their forward and the end of their backward. Empty: any number.
  /// Where they are too few for the order they are raised.
  std::vector<std::vector<int64_t>> mostHeld;
};

struct GreedyResult {
  std::vector<WorkOrder> stages;
  int64_t units = 0; ///< until the last stage is done
};

GreedyResult orderGreedily(const PipelineShape &shape, const ChunkOrder &order, const GreedyLimits &limits);

/// Ways to deal out the micro-batches in groups of at most as many as there are stages: all
/// full but the last, and all about equal. Which is better depends on all three numbers.
std::vector<std::vector<int64_t>> groupings(const PipelineShape &shape);

/// Forwards ahead of backwards of interleaved one-forward-one-backward, per stage: those
/// that fill the pipeline twice around, as in Megatron-LM (arXiv 2104.04473), and one more.
std::vector<int64_t> interleavedAhead(const PipelineShape &shape, const ChunkOrder &order);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_GREEDYORDER_H
