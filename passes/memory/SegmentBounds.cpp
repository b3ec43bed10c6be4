//===- SegmentBounds.cpp - what no packing of a stage can be below ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds end the search for a packing early, and say which arrangements are worth one.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SegmentBounds.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace tgpt;

int64_t tgpt::leastScratchBytes(const StageToPack &stage, const SlotArrangement &slots, bool withOnce) {
  int64_t least = 0;
  for (const SegmentBuffers &segment : stage.lifetimes.segments) {
    if (segment.runsOnce() && !withOnce)
      continue;
    std::vector<Lifetime> all = segment.set.lifetimes;
    for (const PlacedBuffer &placed : slots.spaceOf(segment).taken)
      all.push_back(placed.lifetime);
    least = std::max(least, peakLiveBytes(all, stage.alignment) - slots.spaceOf(segment).endlessFrom());
  }
  return roundUp(least, stage.grainBytes);
}

int64_t tgpt::leastBytesWithStep(const StageToPack &stage, const SlotArrangement &arrangement) {
  int64_t least = arrangement.bytes() + leastScratchBytes(stage, arrangement, /*withOnce=*/false);
  for (const SegmentBuffers &segment : stage.lifetimes.segments)
    if (segment.runsOnce())
      least = std::max(least, peakLiveBytes(segment.set.lifetimes, stage.alignment));
  return least;
}

int64_t tgpt::leastLiveBytes(const StageToPack &stage) {
  planir::ScheduleOp schedule = planir::StageOp(stage.op).getSchedule();
  if (!schedule)
    return 0;
  llvm::StringMap<size_t> indices;
  for (auto [i, segment] : llvm::enumerate(stage.lifetimes.segments))
    indices[segment.name] = i;
  std::vector<int64_t> within(stage.lifetimes.segments.size()), behind(stage.lifetimes.segments.size());
  for (auto [i, segment] : llvm::enumerate(stage.lifetimes.segments)) {
    std::vector<Lifetime> all = segment.set.lifetimes;
    if (auto chunk = stage.lifetimes.chunks.find(segment.chunk);
        chunk != stage.lifetimes.chunks.end() && !segment.runsOnce())
      for (const Lifetime &kept : chunk->second.kept.lifetimes) {
        int64_t first = std::max(kept.first, segment.first), last = std::min(kept.last, segment.last);
        if (first <= last)
          all.push_back({first, last, kept.bytes});
        behind[i] += kept.first <= segment.last && kept.last > segment.last ? kept.bytes : 0;
      }
    within[i] = peakLiveBytes(all);
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> held; // by chunk and micro-batch
  int64_t sum = 0, most = 0;
  for (auto run : schedule.getRuns().getAsRange<planir::RunAttr>()) {
    size_t i = indices.lookup(run.getSegment().getValue());
    int64_t &own = held[{stage.lifetimes.segments[i].chunk, run.getMicroBatch()}];
    most = std::max(most, sum - own + within[i]);
    sum += behind[i] - own;
    own = behind[i];
  }
  return most;
}
