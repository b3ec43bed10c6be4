//===- OneForwardOneBackward.cpp - a forward and a backward in turn ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PipeDream-Flush, arXiv 2006.09503. For 4 stages and 6 micro-batches, F and B each one
// time unit long:
//
//   stage 0  F0 F1 F2 F3 .  .  .  B0 F4 B1 F5 B2 .  B3 .  B4 .  B5
//   stage 1  .  F0 F1 F2 .  .  B0 F3 B1 F4 B2 F5 B3 .  B4 .  B5
//   stage 2  .  .  F0 F1 .  B0 F2 B1 F3 B2 F4 B3 F5 B4 .  B5
//   stage 3  .  .  .  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
//
// A stage starts a new forward only after a backward has freed a slot, so it holds the
// activations of at most stages - stage micro-batches.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/WorkOrder.h"
#include <algorithm>

using namespace tgpt;

std::vector<WorkOrder> tgpt::orderOneForwardOneBackward(const PipelineShape &shape) {
  std::vector<WorkOrder> orders;
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    int64_t mostWarmUp = shape.stages - stage - 1;
    int64_t warmUp = std::min(shape.microBatches, mostWarmUp);
    std::vector<ScheduleEntry> entries;
    for (int64_t i = 0; i < shape.microBatches + warmUp; ++i) {
      if (i < shape.microBatches)
        entries.push_back({WorkKind::Forward, i, 0, 0});
      if (i >= warmUp)
        entries.push_back({WorkKind::Backward, i - warmUp, 0, 0});
    }
    orders.push_back(finishOrder(shape, stage, entries, mostWarmUp));
  }
  return orders;
}
