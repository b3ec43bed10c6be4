//===- MicroBatchesInFlight.h - how many micro-batches hold something at once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_MICROBATCHESINFLIGHT_H
#define TGPT_PASSES_PIPELINE_MICROBATCHESINFLIGHT_H

#include "passes/pipeline/schedule/Schedule.h"

namespace tgpt {

/// Under a schedule.
struct MicroBatchesInFlight {
  std::vector<int64_t> slots; ///< of each virtual stage
  /// Of each stage, those that have a page: of several chunks all in flight, of one chunk those between their backward
  /// and the end of their weight gradients. Empty: no pages.
  std::vector<int64_t> pages;
  /// Of each stage of one chunk, those until the end of their backward, where weight gradients wait.
  std::vector<int64_t> untilBackward;
};

/// Of the schedule in which every virtual stage has work.
MicroBatchesInFlight countInFlight(ScheduleKind kind, int64_t stages, int64_t chunks, int64_t microBatches);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_MICROBATCHESINFLIGHT_H
