//===- Channels.h - how many messages must find room between stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sender waits while its channel is full. The depth of a channel is the least with which
// no entry of any schedule begins later than with channels that are never full, where each
// entry takes one unit of time, and takes all its messages and sends its own as it begins.
//
// Then no stage waits in a circle either, however long entries really take and wherever in
// an entry messages are sent and taken. For run the entries one by one, in order of their
// unit times, at equal times the forwards of later virtual stages and the backwards of
// earlier ones first: each finds its messages there and room for its own. Where one order
// of events comes to the end, all do, since channels are queues with one end each.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_CHANNELS_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_CHANNELS_H

#include "passes/pipeline/schedule/Schedule.h"
#include <tuple>

namespace tgpt {

/// A value that each micro-batch sends from the forward (or backward) of a virtual stage to
/// the forward (or backward) of another.
struct Transfer {
  WorkKind kind = WorkKind::Forward;
  int64_t from = 0, to = 0; ///< virtual stages
  bool operator<(const Transfer &other) const {
    return std::tie(kind, from, to) < std::tie(other.kind, other.from, other.to);
  }
};

/// The depth of the channel of each transfer. Schedules come to their end.
std::vector<int64_t> channelDepths(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
                                   const std::vector<Transfer> &transfers);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_CHANNELS_H
