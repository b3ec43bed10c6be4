//===- Schedule.h - the order in which pipeline stages do their work ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline has stages, each stage has chunks of the model's layers, and the layers run
// through the virtual stages in order: chunk 0 of every stage, chunk 1 of every stage...
// A schedule says in which order each stage runs the forwards, the backwards and, where
// they are split off, the weight gradients of its chunks over the micro-batches of a step:
//
//   PipelineShape shape{.stages = 4, .chunks = 1, .microBatches = 8};
//   std::vector<StageSchedule> schedule = makeSchedule(ScheduleKind::OneForwardOneBackward, shape);
//   schedule[0].entries().front().toString() == "F0@0"
//
// Plain C++, no IR: passes, planner and tests share it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_SCHEDULE_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt {

enum class WorkKind { Forward, Backward, WeightGradient };

/// One entry of a stage's schedule: the forward, backward or weight gradient of a
/// micro-batch through a chunk, with its saved activations in `slot` of the chunk.
struct ScheduleEntry {
  WorkKind kind = WorkKind::Forward;
  int64_t microBatch = 0, chunk = 0, slot = 0;

  /// As in dist.schedule: "F3@1", and "F3.2@1" for chunk 2.
  std::string toString() const;
  /// The same without the slot: "F3", "F3.2".
  std::string workToString() const;
  bool operator==(const ScheduleEntry &) const = default;
};

enum class ScheduleKind { GPipe, OneForwardOneBackward, ZeroBubble };

/// "gpipe", "1f1b" or "zero-bubble", in the order of the enum.
const std::vector<std::string> &scheduleKindNames();
/// The same for an error message: "gpipe, 1f1b or zero-bubble".
std::string scheduleKindChoices();
std::optional<ScheduleKind> parseScheduleKind(std::string_view name);

/// What a schedule is made for; stages, chunks and microBatches are at least 1.
struct PipelineShape {
  int64_t stages = 1;       ///< ranks along the pipeline
  int64_t chunks = 1;       ///< pieces of the model a stage has
  int64_t microBatches = 1; ///< of a step
  /// Per virtual stage: it has no work at all. An empty vector: none is so.
  std::vector<bool> isEmpty = {};
  /// Per virtual stage, for zero-bubble: its backward is not split. An empty vector: all are.
  std::vector<bool> keepsBackwardWhole = {};

  int64_t virtualStages() const { return stages * chunks; }
  int64_t virtualStage(int64_t stage, int64_t chunk) const { return chunk * stages + stage; }
  bool hasWork(int64_t virtualStage) const { return isEmpty.empty() || !isEmpty[virtualStage]; }
  bool splitsBackward(int64_t virtualStage) const {
    return keepsBackwardWhole.empty() || !keepsBackwardWhole[virtualStage];
  }
};

/// What one stage does in a step: the three lists one after the other.
struct StageSchedule {
  std::vector<ScheduleEntry> warmUp;   ///< forwards that fill the pipeline
  std::vector<ScheduleEntry> steady;   ///< forwards and backwards in turn
  std::vector<ScheduleEntry> coolDown; ///< what remains once the last forward is done
  std::vector<int64_t> slots;          ///< per chunk: micro-batches whose activations are held at once

  std::vector<ScheduleEntry> entries() const;
  int64_t countSlots() const; ///< of all chunks
};

/// The schedule of each stage. Every forward, backward and weight gradient that there is occurs
/// once, micro-batches pass each virtual stage in order, and no stage waits in a circle where
/// channels hold as many messages as `channelDepths` says.
std::vector<StageSchedule> makeSchedule(ScheduleKind kind, const PipelineShape &shape);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_SCHEDULE_H
