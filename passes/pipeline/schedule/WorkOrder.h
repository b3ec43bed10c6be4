//===- WorkOrder.h - what the kinds of schedules are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a kind of schedule and the finished thing: what a stage does one after the
// other, slots still open. One file a kind makes it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_WORKORDER_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_WORKORDER_H

#include "passes/pipeline/schedule/Schedule.h"

namespace tgpt {

/// What one stage does, in order.
struct WorkOrder {
  std::vector<ScheduleEntry> entries; ///< slots are not assigned
  int64_t steadyBegin = 0;            ///< the first entry of the steady phase
  int64_t coolDownBegin = 0;          ///< the first one behind it
};

/// GPipe.cpp: all forwards, then all backwards.
std::vector<WorkOrder> orderGPipe(const PipelineShape &shape);
/// OneForwardOneBackward.cpp: for one chunk a stage.
std::vector<WorkOrder> orderOneForwardOneBackward(const PipelineShape &shape);
/// Interleaved.cpp: one forward, one backward over any number of chunks.
std::vector<WorkOrder> orderInterleaved(const PipelineShape &shape);
/// ZeroBubble.cpp: weight gradients fill the gaps.
std::vector<WorkOrder> orderZeroBubble(const PipelineShape &shape);

/// The forwards, and the backwards, of a stage as (chunk, micro-batch), the same on every
/// stage: micro-batches go in groups through chunk 0, then through chunk 1..., and back the
/// other way.
struct ChunkOrder {
  std::vector<ScheduleEntry> forwards, backwards;

  /// `groups` are the sizes of the groups, which sum to the micro-batches.
  ChunkOrder(const PipelineShape &shape, const std::vector<int64_t> &groups);
  /// Forwards that a stage must be able to have ahead of its backwards, at least, so that
  /// no stage waits in a circle: see GreedyOrder.h.
  int64_t leastAhead() const;
};

/// Drops the work of virtual stages that have none and sets the phases: `mostWarmUp` is
/// the number of forwards that fill the pipeline when there are enough micro-batches.
WorkOrder finishOrder(const PipelineShape &shape, int64_t stage, const std::vector<ScheduleEntry> &all,
                      int64_t mostWarmUp);

/// Gives each forward the lowest slot of its chunk that is free, held to the last entry of
/// its chunk and micro-batch. Returns how many slots each chunk needs: as many as are held
/// at once, no fewer would do.
std::vector<int64_t> assignSlots(std::vector<ScheduleEntry> &entries, int64_t chunks);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_WORKORDER_H
