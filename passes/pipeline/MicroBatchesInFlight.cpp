//===- MicroBatchesInFlight.cpp - how many micro-batches hold something at once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/MicroBatchesInFlight.h"
#include "cost/PageSharing.h"
#include <algorithm>
#include <initializer_list>

using namespace tgpt;

/// Micro-batches of any chunk that have a page at once, which work of these kinds uses.
static int64_t countHolders(const StageSchedule &schedule, std::initializer_list<WorkKind> kinds) {
  std::vector<std::optional<cost::PageHolder>> holders;
  for (const ScheduleEntry &entry : schedule.entries())
    if (std::find(kinds.begin(), kinds.end(), entry.kind) != kinds.end())
      holders.emplace_back(cost::PageHolder(entry.chunk, entry.microBatch));
  return cost::dealOutPages(holders).pages;
}

// More micro-batches than fill the pipeline several times need no more slots and pages, but under gpipe, as long as the
// last group of them is as large. Under gpipe all are full at once, and a backward that is not split only frees.
MicroBatchesInFlight tgpt::countInFlight(ScheduleKind kind, int64_t stages, int64_t chunks, int64_t microBatches) {
  if (kind == ScheduleKind::GPipe)
    return {std::vector<int64_t>(stages * chunks, microBatches), {}, {}};
  int64_t enough = 4 * stages * chunks;
  if (microBatches > enough + stages)
    microBatches = enough + microBatches % stages;
  PipelineShape shape{.stages = stages, .chunks = chunks, .microBatches = microBatches};
  MicroBatchesInFlight counts;
  counts.slots.resize(stages * chunks);
  std::vector<StageSchedule> schedules = makeSchedule(kind, shape);
  for (int64_t stage = 0; stage < stages; ++stage) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      counts.slots[shape.virtualStage(stage, chunk)] = schedules[stage].slots[chunk];
    using enum WorkKind;
    if (chunks > 1) {
      counts.pages.push_back(countHolders(schedules[stage], {Forward, Backward, WeightGradient}));
    } else if (kind == ScheduleKind::ZeroBubble) {
      counts.pages.push_back(countHolders(schedules[stage], {Backward, WeightGradient}));
      counts.untilBackward.push_back(countHolders(schedules[stage], {Forward, Backward}));
    }
  }
  return counts;
}
