//===- SegmentPacking.cpp - where the buffers of all segments lie ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SegmentPacking.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace tgpt;

/// An arena is good enough that is 1/400 above what is live at once: no more search then.
static constexpr int64_t goodShare = 400;
/// Larger slots that are tried where it is not.
static constexpr size_t mostSlotSizes = 3;
/// Arrangements with pages that are packed to the end.
static constexpr size_t mostPacked = 6;

namespace {

/// A chunk, and bytes of its slots.
using SlotSize = std::pair<int64_t, int64_t>;

class StagePacker {
public:
  StagePacker(planir::StageOp stage, const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes,
              int64_t residentBytes, PackingCache &cache)
      : stage(stage), lifetimes(lifetimes), alignment(alignment), grainBytes(grainBytes), residentBytes(residentBytes),
        cache(cache) {}

  PackingResult pack();

private:
  SegmentPacking packSegments(const SlotArrangement &arrangement, int64_t goodBytes) const;
  SegmentPacking packWithStep(const SlotArrangement &arrangement) const;
  SegmentPacking packBoth(const SlotArrangement &arrangement, int64_t goodBytes) const;
  std::vector<SlotSize> largerSlots(const SegmentPacking &packing) const;
  std::vector<SlotSize> sizesThatFit(const SegmentPacking &packing) const;
  int64_t leastScratchBytes(const SlotArrangement &slots, bool withOnce) const;
  int64_t leastBytesWithStep(const SlotArrangement &arrangement) const;
  int64_t leastLiveBytes();
  void packPages(const SlotArrangement &slots, int64_t goodBytes, SegmentPacking &best) const;

  planir::StageOp stage;
  const StageLifetimes &lifetimes;
  int64_t alignment, grainBytes, residentBytes;
  PackingCache &cache;
};

} // namespace

/// Each segment has a slot of its chunk to itself, a page, a leaf, and all of the scratch region. A total of
/// `goodBytes` is not improved any more.
SegmentPacking StagePacker::packSegments(const SlotArrangement &arrangement, int64_t goodBytes) const {
  SegmentPacking result;
  result.arrangement = arrangement;
  int64_t goodScratch = std::max<int64_t>(goodBytes - arrangement.bytes(), 0);
  for (const SegmentBuffers &segment : lifetimes.segments) {
    Space space = arrangement.spaceOf(segment);
    space.goalBytes += std::max(goodScratch, result.scratchBytes);
    result.segments.push_back(cache.pack(segment.set.lifetimes, alignment, space));
    result.scratchBytes =
        std::max(result.scratchBytes, roundUp(result.segments.back().endBytes - space.endlessFrom(), grainBytes));
  }
  return result;
}

/// The same, but segments that run once a step have all that the others have, in one piece.
SegmentPacking StagePacker::packWithStep(const SlotArrangement &arrangement) const {
  SegmentPacking result;
  result.arrangement = arrangement;
  result.hasStep = true;
  result.segments.resize(lifetimes.segments.size());
  Space whole;
  whole.goalBytes = arrangement.bytes();
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, result.segments))
    if (segment.runsOnce()) {
      packed = cache.pack(segment.set.lifetimes, alignment, whole);
      result.stepBytes = std::max(result.stepBytes, roundUp(packed.endBytes, grainBytes));
    }
  int64_t goodScratch = std::max<int64_t>(result.stepBytes - arrangement.bytes(), 0);
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, result.segments))
    if (!segment.runsOnce()) {
      Space space = arrangement.spaceOf(segment);
      space.goalBytes += std::max(goodScratch, result.scratchBytes);
      packed = cache.pack(segment.set.lifetimes, alignment, space);
      result.scratchBytes = std::max(result.scratchBytes, roundUp(packed.endBytes - space.endlessFrom(), grainBytes));
    }
  return result;
}

/// Whichever is smaller, where the step region saves a good share.
SegmentPacking StagePacker::packBoth(const SlotArrangement &arrangement, int64_t goodBytes) const {
  SegmentPacking packing = packSegments(arrangement, goodBytes);
  if (packing.bytes() - leastBytesWithStep(arrangement) <= (residentBytes + packing.bytes()) / goodShare)
    return packing;
  SegmentPacking withStep = packWithStep(arrangement);
  return withStep.bytes() < packing.bytes() ? withStep : packing;
}

/// Slot sizes that let what lies behind a slot into it, where that may be worth it.
std::vector<SlotSize> StagePacker::sizesThatFit(const SegmentPacking &packing) const {
  std::vector<SlotSize> found;
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, packing.segments)) {
    auto chunk = packing.arrangement.chunks.find(segment.chunk);
    if (chunk == packing.arrangement.chunks.end())
      continue;
    const ChunkSpace &space = chunk->second;
    for (auto [lifetime, offset] : llvm::zip(segment.set.lifetimes, packed.offsets)) {
      int64_t below = 0;
      for (const PlacedBuffer &placed : space.placed)
        if (placed.lifetime.first <= lifetime.last && lifetime.first <= placed.lifetime.last)
          below = std::max(below, placed.offset + placed.lifetime.bytes);
      int64_t size = roundUp(roundUp(below, alignment) + lifetime.bytes, grainBytes);
      if (offset >= space.slotBytes && size > space.slotBytes &&
          space.slots * (size - space.slotBytes) < packing.scratchBytes)
        found.emplace_back(segment.chunk, size);
    }
  }
  return found;
}

/// Larger slots to try. Where there is one slot, it does not matter where a byte is, so all
/// may lie in it.
std::vector<SlotSize> StagePacker::largerSlots(const SegmentPacking &packing) const {
  const SlotArrangement &slots = packing.arrangement;
  if (slots.chunks.size() == 1 && slots.chunks.begin()->second.slots == 1) {
    int64_t end = slots.chunks.begin()->second.slotBytes;
    for (const SegmentBuffers &segment : lifetimes.segments) {
      Space space = slots.spaceOf(segment);
      space.splits.clear();
      space.goalBytes = end;
      end = std::max(end, cache.pack(segment.set.lifetimes, alignment, space).endBytes);
    }
    return {{slots.chunks.begin()->first, roundUp(end, grainBytes)}};
  }
  std::vector<SlotSize> found = sizesThatFit(packing);
  llvm::sort(found, [](const SlotSize &a, const SlotSize &b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  found.erase(llvm::unique(found), found.end());
  found.resize(std::min<size_t>(found.size(), mostSlotSizes));
  return found;
}

/// The least of scratch that would do beside slots of what is kept, with the segments that run once a step or without.
int64_t StagePacker::leastScratchBytes(const SlotArrangement &slots, bool withOnce) const {
  int64_t least = 0;
  for (const SegmentBuffers &segment : lifetimes.segments) {
    if (segment.runsOnce() && !withOnce)
      continue;
    std::vector<Lifetime> all = segment.set.lifetimes;
    for (const PlacedBuffer &placed : slots.spaceOf(segment).taken)
      all.push_back(placed.lifetime);
    least = std::max(least, peakLiveBytes(all, alignment) - slots.spaceOf(segment).endlessFrom());
  }
  return roundUp(least, grainBytes);
}

/// The least that slots, pages, scratch and what lies over them could be.
int64_t StagePacker::leastBytesWithStep(const SlotArrangement &arrangement) const {
  int64_t least = arrangement.bytes() + leastScratchBytes(arrangement, /*withOnce=*/false);
  for (const SegmentBuffers &segment : lifetimes.segments)
    if (segment.runsOnce())
      least = std::max(least, peakLiveBytes(segment.set.lifetimes, alignment));
  return least;
}

/// The least bytes of what is not resident: what is live at once at some entry of the schedule.
int64_t StagePacker::leastLiveBytes() {
  if (!stage.getSchedule())
    return 0;
  llvm::StringMap<size_t> indices;
  for (auto [i, segment] : llvm::enumerate(lifetimes.segments))
    indices[segment.name] = i;
  std::vector<int64_t> within(lifetimes.segments.size()), behind(lifetimes.segments.size());
  for (auto [i, segment] : llvm::enumerate(lifetimes.segments)) {
    std::vector<Lifetime> all = segment.set.lifetimes;
    if (auto chunk = lifetimes.chunks.find(segment.chunk); chunk != lifetimes.chunks.end() && !segment.runsOnce())
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
  for (auto run : stage.getSchedule().getRuns().getAsRange<planir::RunAttr>()) {
    size_t i = indices.lookup(run.getSegment().getValue());
    int64_t &own = held[{lifetimes.segments[i].chunk, run.getMicroBatch()}];
    most = std::max(most, sum - own + within[i]);
    sum += behind[i] - own;
    own = behind[i];
  }
  return most;
}

/// Arrangements by rising bounds, packed as long as the bound is below the best there is, a few of them.
void StagePacker::packPages(const SlotArrangement &slots, int64_t goodBytes, SegmentPacking &best) const {
  std::vector<SlotArrangement> arrangements = arrangePages(stage, lifetimes, slots, alignment, grainBytes, cache);
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [i, arrangement] : llvm::enumerate(arrangements))
    order.emplace_back(leastBytesWithStep(arrangement), i);
  llvm::sort(order);
  order.resize(std::min(order.size(), mostPacked));
  for (auto [least, i] : order) {
    if (least >= best.bytes() || best.bytes() <= goodBytes)
      break;
    if (SegmentPacking packing = packBoth(arrangements[i], goodBytes); packing.bytes() < best.bytes())
      best = std::move(packing);
  }
}

PackingResult StagePacker::pack() {
  SlotArrangement slots = arrangeSlots(lifetimes, alignment, grainBytes);
  int64_t least = slots.bytes() + leastScratchBytes(slots, /*withOnce=*/true), live = leastLiveBytes();
  int64_t goodLive = live + (residentBytes + live) / goodShare, good = least + (residentBytes + least) / goodShare;
  SegmentPacking best = packBoth(slots, good);
  auto keepBetter = [&](const SlotArrangement &arrangement) {
    if (SegmentPacking packing = packBoth(arrangement, good); packing.bytes() < best.bytes())
      best = std::move(packing);
  };
  if (best.bytes() > good)
    keepBetter(stackSlots(lifetimes, slots, alignment, grainBytes));
  if (best.bytes() > good) {
    SlotArrangement larger = best.arrangement;
    for (auto [chunk, bytes] : largerSlots(best)) {
      std::swap(larger.chunks[chunk].slotBytes, bytes);
      keepBetter(larger);
      std::swap(larger.chunks[chunk].slotBytes, bytes);
    }
  }
  if (best.bytes() > goodLive)
    packPages(slots, goodLive, best);
  return {best, best.bytes() <= std::max(least, live)};
}

PackingResult tgpt::packStage(planir::StageOp stage, const StageLifetimes &lifetimes, int64_t alignment,
                              int64_t grainBytes, int64_t residentBytes, PackingCache &cache) {
  return StagePacker(stage, lifetimes, alignment, grainBytes, residentBytes, cache).pack();
}
