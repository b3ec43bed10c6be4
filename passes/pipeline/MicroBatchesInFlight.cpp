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
#include <set>

using namespace tgpt;

/// Micro-batches of any chunk that have a page at once, which work of these kinds uses.
static int64_t countHolders(const StageSchedule &schedule, std::initializer_list<WorkKind> kinds) {
  std::vector<std::optional<cost::PageHolder>> holders;
  for (const ScheduleEntry &entry : schedule.entries())
    if (std::find(kinds.begin(), kinds.end(), entry.kind) != kinds.end())
      holders.emplace_back(cost::PageHolder(entry.chunk, entry.microBatch));
  return cost::dealOutPages(holders).pages;
}

/// Whether there is as much of all at the one time as at the other.
static bool isCovered(const HeldAtOnce &one, const HeldAtOnce &other) {
  for (std::size_t chunk = 0; chunk < one.size(); ++chunk)
    if (one[chunk].before > other[chunk].before || one[chunk].within > other[chunk].within ||
        one[chunk].behind > other[chunk].behind)
      return false;
  return true;
}

/// The times that matter, each once.
static std::vector<HeldAtOnce> fullestMoments(const StageSchedule &schedule, int64_t chunks, bool waits) {
  std::set<HeldAtOnce> all;
  HeldAtOnce now(chunks);
  for (const ScheduleEntry &entry : schedule.entries()) {
    HeldOfChunk &held = now[entry.chunk];
    if (entry.kind == WorkKind::Forward)
      ++held.before;
    if (entry.kind == WorkKind::Backward)
      --held.before, ++held.within;
    all.insert(now);
    if (entry.kind == WorkKind::Backward)
      --held.within, held.behind += waits;
    if (entry.kind == WorkKind::WeightGradient)
      --held.behind;
  }
  std::vector<HeldAtOnce> fullest;
  for (const HeldAtOnce &one : all)
    if (std::none_of(all.begin(), all.end(),
                     [&](const HeldAtOnce &other) { return one != other && isCovered(one, other); }))
      fullest.push_back(one);
  return fullest;
}

// More micro-batches than fill the pipeline several times need no more slots and pages, but under gpipe, as long as the
// last group of them is as large. Under gpipe all are full at once, and a backward that is not split only frees.
MicroBatchesInFlight tgpt::countInFlight(ScheduleKind kind, int64_t stages, int64_t chunks, int64_t microBatches) {
  if (kind == ScheduleKind::GPipe)
    return {std::vector<int64_t>(stages * chunks, microBatches), {}, {}, {}};
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
    bool waits = kind == ScheduleKind::ZeroBubble;
    if (chunks > 1) {
      counts.pages.push_back(countHolders(schedules[stage], {Forward, Backward, WeightGradient}));
      counts.moments.push_back(fullestMoments(schedules[stage], chunks, waits));
    } else if (waits) {
      counts.pages.push_back(countHolders(schedules[stage], {Backward, WeightGradient}));
      counts.untilBackward.push_back(countHolders(schedules[stage], {Forward, Backward}));
    }
  }
  return counts;
}
