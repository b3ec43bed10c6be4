//===- OneForwardOneBackward.h - the order of a pipeline stage's work ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one-forward-one-backward schedule (PipeDream-Flush, arXiv 2006.09503). In
// terms of stage numbers alone: no IR here, so that it can be tested for every
// size by itself.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_ONEFORWARDONEBACKWARD_H
#define TGPT_PASSES_PIPELINE_ONEFORWARDONEBACKWARD_H

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

/// One entry of a stage's schedule: the forward or backward of a micro-batch,
/// with its saved activations in `slot`.
struct ScheduleEntry {
  enum class Kind { Forward, Backward };
  Kind kind;
  int64_t microBatch;
  int64_t slot;

  /// As in dist.schedule: "F3@1".
  std::string toString() const;
  bool operator==(const ScheduleEntry &) const = default;
};

/// How many micro-batches stage `stage` has between forward and backward at
/// most: min(microBatches, stageCount - stage).
int64_t slotsInFlight(int64_t stage, int64_t stageCount, int64_t microBatches);

/// The entries of stage `stage` in order: min(microBatches, stageCount - stage - 1)
/// forwards to fill the pipeline, then a forward and a backward in turn, then the
/// remaining backwards. Needs 0 <= stage < stageCount and microBatches >= 1.
std::vector<ScheduleEntry> scheduleOneForwardOneBackward(int64_t stage, int64_t stageCount, int64_t microBatches);

/// Messages that a channel between two stages must hold so that this schedule never
/// waits in a circle: one between neighbours, and |from - to| past them. With one,
/// 4 stages that send past their neighbours do stop: the first fills the pipeline
/// while the last already sends back to it.
int64_t channelDepth(int64_t from, int64_t to);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_ONEFORWARDONEBACKWARD_H
