//===- GPipe.cpp - all forwards, then all backwards ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// arXiv 1811.06965. For 3 stages and 4 micro-batches:
//
//   stage 0  F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3
//   stage 1  .  F0 F1 F2 F3 .  .  B0 B1 B2 B3
//   stage 2  .  .  F0 F1 F2 F3 B0 B1 B2 B3
//
// With chunks, groups of as many micro-batches as there are stages go through all chunks,
// so that a group comes back to the first stage just as it is done with the chunk before. A
// group may be larger, at the cost of messages that wait, but no smaller, so the last one
// takes what is left over.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/WorkOrder.h"
#include <algorithm>

using namespace tgpt;

std::vector<WorkOrder> tgpt::orderGPipe(const PipelineShape &shape) {
  std::vector<int64_t> groups(std::max<int64_t>(1, shape.microBatches / shape.stages), shape.stages);
  groups.back() = shape.microBatches - shape.stages * (static_cast<int64_t>(groups.size()) - 1);
  ChunkOrder order(shape, groups);
  std::vector<ScheduleEntry> entries = order.forwards;
  entries.insert(entries.end(), order.backwards.begin(), order.backwards.end());
  std::vector<WorkOrder> orders;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    orders.push_back(finishOrder(shape, stage, entries, static_cast<int64_t>(order.forwards.size())));
  return orders;
}
