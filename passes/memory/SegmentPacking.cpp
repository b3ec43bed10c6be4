//===- SegmentPacking.cpp - where the buffers of all segments lie ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SegmentPacking.h"

using namespace tgpt;

/// An arena is good enough that is 1/400 above what is live at once: no more search then.
static constexpr int64_t goodShare = 400;
/// Larger slots that are tried where it is not.
static constexpr size_t mostSlotSizes = 3;

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
  Space spaceOf(const SlotArrangement &arrangement, const SegmentBuffers &segment) const;
  SegmentPacking packSegments(const SlotArrangement &arrangement, int64_t goodBytes) const;
  SegmentPacking packWithStep(const SlotArrangement &arrangement) const;
  std::vector<SlotSize> largerSlots(const SegmentPacking &packing) const;
  std::vector<SlotSize> sizesThatFit(const SegmentPacking &packing) const;
  int64_t leastScratchBytes(const SlotArrangement &slots, bool withOnce) const;
  int64_t leastBytesWithStep(const SlotArrangement &arrangement) const;

  planir::StageOp stage;
  const StageLifetimes &lifetimes;
  int64_t alignment, grainBytes, residentBytes;
  PackingCache &cache;
};

} // namespace

Space StagePacker::spaceOf(const SlotArrangement &arrangement, const SegmentBuffers &segment) const {
  Space space;
  space.splits = arrangement.splitsOf(segment);
  if (auto chunk = arrangement.chunks.find(segment.chunk); chunk != arrangement.chunks.end())
    for (const PlacedBuffer &placed : chunk->second.placed)
      if (placed.offset < space.endlessFrom()) // a forward may have no page, and what is there lives later
        space.taken.push_back(placed);
  space.goalBytes = space.endlessFrom();
  return space;
}

/// Each segment has a slot of its chunk to itself, a page, and all of the scratch region. A total of
/// `goodBytes` is not improved any more.
SegmentPacking StagePacker::packSegments(const SlotArrangement &arrangement, int64_t goodBytes) const {
  SegmentPacking result;
  result.arrangement = arrangement;
  int64_t goodScratch = std::max<int64_t>(goodBytes - arrangement.bytes(), 0);
  for (const SegmentBuffers &segment : lifetimes.segments) {
    Space space = spaceOf(arrangement, segment);
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
      Space space = spaceOf(arrangement, segment);
      space.goalBytes += std::max(goodScratch, result.scratchBytes);
      packed = cache.pack(segment.set.lifetimes, alignment, space);
      result.scratchBytes = std::max(result.scratchBytes, roundUp(packed.endBytes - space.endlessFrom(), grainBytes));
    }
  return result;
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
      Space space = spaceOf(slots, segment);
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
    for (const PlacedBuffer &placed : spaceOf(slots, segment).taken)
      all.push_back(placed.lifetime);
    least = std::max(least, peakLiveBytes(all, alignment) - spaceOf(slots, segment).endlessFrom());
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

PackingResult StagePacker::pack() {
  SlotArrangement slots = arrangeSlots(lifetimes, alignment, grainBytes);
  int64_t least = slots.bytes() + leastScratchBytes(slots, /*withOnce=*/true);
  int64_t good = least + (residentBytes + least) / goodShare;
  SegmentPacking best = packSegments(slots, good);
  auto keepBetter = [&](SegmentPacking packing) {
    if (packing.bytes() < best.bytes())
      best = std::move(packing);
  };
  if (best.bytes() > good)
    for (auto [chunk, bytes] : largerSlots(best)) {
      SlotArrangement larger = slots;
      larger.chunks[chunk].slotBytes = bytes;
      keepBetter(packSegments(larger, good));
    }
  for (const SlotArrangement &paged : arrangePages(stage, lifetimes, slots, alignment, grainBytes))
    keepBetter(packSegments(paged, 0));
  if (int64_t saved = best.bytes() - leastBytesWithStep(best.arrangement);
      saved > (residentBytes + best.bytes()) / goodShare)
    keepBetter(packWithStep(best.arrangement));
  return {best, best.bytes() <= least};
}

PackingResult tgpt::packStage(planir::StageOp stage, const StageLifetimes &lifetimes, int64_t alignment,
                              int64_t grainBytes, int64_t residentBytes, PackingCache &cache) {
  return StagePacker(stage, lifetimes, alignment, grainBytes, residentBytes, cache).pack();
}
