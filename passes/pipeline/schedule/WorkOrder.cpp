//===- WorkOrder.cpp - what the kinds of schedules are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/WorkOrder.h"
#include <algorithm>

using namespace tgpt;

ChunkOrder::ChunkOrder(const PipelineShape &shape, const std::vector<int64_t> &groups) {
  int64_t first = 0;
  for (int64_t group : groups) {
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t i = 0; i < group; ++i) {
        forwards.push_back({WorkKind::Forward, first + i, chunk, 0});
        backwards.push_back({WorkKind::Backward, first + i, shape.chunks - 1 - chunk, 0});
      }
    first += group;
  }
}

int64_t ChunkOrder::leastAhead() const {
  int64_t chunks = 1, microBatches = 0;
  for (const ScheduleEntry &entry : forwards) {
    chunks = std::max(chunks, entry.chunk + 1);
    microBatches = std::max(microBatches, entry.microBatch + 1);
  }
  std::vector<int64_t> position(chunks * microBatches);
  for (size_t i = 0; i < forwards.size(); ++i)
    position[forwards[i].chunk * microBatches + forwards[i].microBatch] = static_cast<int64_t>(i);
  int64_t least = 0;
  for (size_t i = 0; i < backwards.size(); ++i)
    least = std::max(least, position[backwards[i].chunk * microBatches + backwards[i].microBatch] -
                                static_cast<int64_t>(i) + 1);
  return least;
}

WorkOrder tgpt::finishOrder(const PipelineShape &shape, int64_t stage, const std::vector<ScheduleEntry> &all,
                            int64_t mostWarmUp) {
  auto isForward = [](const ScheduleEntry &entry) { return entry.kind == WorkKind::Forward; };
  int64_t leading = std::find_if_not(all.begin(), all.end(), isForward) - all.begin();
  int64_t steadyBegin = std::min(leading, mostWarmUp);
  // Steady is from the first forward that a backward follows at once to the backward after the last forward.
  auto behindForwards = std::find_if(all.rbegin(), all.rend(), isForward).base();
  int64_t coolDownBegin = behindForwards - all.begin();
  if (coolDownBegin > steadyBegin) {
    auto isBackward = [](const ScheduleEntry &entry) { return entry.kind == WorkKind::Backward; };
    coolDownBegin = std::find_if(behindForwards, all.end(), isBackward) - all.begin() + 1;
  }
  WorkOrder order;
  for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
    if (!shape.hasWork(shape.virtualStage(stage, all[i].chunk)))
      continue;
    order.steadyBegin += i < steadyBegin;
    order.coolDownBegin += i < coolDownBegin;
    order.entries.push_back(all[i]);
  }
  return order;
}
