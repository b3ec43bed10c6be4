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

/// Micro-batches of a chunk that a stage holds at one time: before their backward, in it, and behind it, where their
/// weight gradients wait.
struct HeldOfChunk {
  int64_t before = 0, within = 0, behind = 0;

  auto operator<=>(const HeldOfChunk &) const = default;
};
/// Of each chunk.
using HeldAtOnce = std::vector<HeldOfChunk>;

/// Under a schedule.
struct MicroBatchesInFlight {
  std::vector<int64_t> slots; ///< of each virtual stage
  /// Of each stage, those that have a page: of several chunks all in flight, of one chunk those between their backward
  /// and the end of their weight gradients. Empty: no pages.
  std::vector<int64_t> pages;
  /// Of each stage of one chunk, those until the end of their backward, where weight gradients wait.
  std::vector<int64_t> untilBackward;
  /// Of each stage of several chunks, what it holds at the times when no other time has as much of all. Empty: every
  /// chunk holds all its slots at once.
  std::vector<std::vector<HeldAtOnce>> moments;
};

/// Of the schedule in which every virtual stage has work.
MicroBatchesInFlight countInFlight(ScheduleKind kind, int64_t stages, int64_t chunks, int64_t microBatches);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_MICROBATCHESINFLIGHT_H
