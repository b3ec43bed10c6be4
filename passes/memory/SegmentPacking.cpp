//===- SegmentPacking.cpp - where the buffers of all segments lie ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SegmentPacking.h"
#include "passes/memory/SegmentBounds.h"

using namespace tgpt;

/// An arena is good enough that is 1/400 above what is live at once: no more search then.
static constexpr int64_t goodShare = 400;
/// Larger slots that are tried where it is not.
static constexpr size_t mostSlotSizes = 3;
/// Arrangements with pages that are packed to the end, of a family; of these the ones that are enlarged, and how often.
static constexpr size_t mostPacked = 6, mostEnlarged = 2, mostSteps = 3;
/// The same of lots, in which it takes longer to find places.
static constexpr size_t mostLotsPacked = 3, mostLotsEnlarged = 1;
/// Places of a lot up to which they are packed as buffers, for each that is tried and for the one that is taken.
static constexpr size_t mostSearched = 200, mostSearchedLast = 1000;

namespace {

/// A chunk, and bytes of its slots.
using SlotSize = std::pair<int64_t, int64_t>;

class StagePacker {
public:
  explicit StagePacker(const StageToPack &stage)
      : stage(stage), lifetimes(stage.lifetimes), alignment(stage.alignment), grainBytes(stage.grainBytes),
        residentBytes(stage.residentBytes), cache(stage.cache) {}

  PackingResult pack();

private:
  SegmentPacking packSegments(const SlotArrangement &arrangement, int64_t goodBytes) const;
  SegmentPacking packWithStep(const SlotArrangement &arrangement) const;
  SegmentPacking packBoth(SlotArrangement arrangement, int64_t goodBytes, size_t mostPlaces = mostSearched) const;
  SegmentPacking packWithRoom(const SlotArrangement &arrangement, int64_t goodBytes) const;
  std::vector<SlotSize> largerSlots(const SegmentPacking &packing) const;
  std::vector<SlotSize> sizesThatFit(const SegmentPacking &packing) const;
  std::vector<SlotArrangement> enlarged(const SegmentPacking &packing) const;
  int64_t usedBytes(const SegmentPacking &packing, PagePool SlotArrangement::*pool) const;
  SegmentPacking enlarge(SegmentPacking packing, int64_t goodBytes) const;
  void packFamily(const std::vector<SlotArrangement> &family, int64_t goodBytes, SegmentPacking &best) const;

  const StageToPack &stage;
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
SegmentPacking StagePacker::packBoth(SlotArrangement arrangement, int64_t goodBytes, size_t mostPlaces) const {
  if (arrangement.lot)
    arrangement.findPlaces(stage.op, grainBytes, (residentBytes + arrangement.bytes()) / (2 * goodShare), mostPlaces,
                           cache);
  SegmentPacking packing = packSegments(arrangement, goodBytes);
  if (packing.bytes() - leastBytesWithStep(stage, arrangement) <= (residentBytes + packing.bytes()) / goodShare)
    return packing;
  SegmentPacking withStep = packWithStep(arrangement);
  return withStep.bytes() < packing.bytes() ? withStep : packing;
}

/// The same, and where what is kept makes room for what lies in scratch, if that is smaller.
SegmentPacking StagePacker::packWithRoom(const SlotArrangement &arrangement, int64_t goodBytes) const {
  SegmentPacking packing = packBoth(arrangement, goodBytes);
  if (packing.bytes() <= goodBytes || packing.scratchBytes == 0)
    return packing;
  std::optional<SlotArrangement> withRoom = withRoomInSlots(stage, packing);
  if (!withRoom)
    return packing;
  if (withRoom->lot)
    withRoom->measureLot();
  SegmentPacking next = packBoth(*withRoom, goodBytes);
  return next.bytes() < packing.bytes() ? next : packing;
}

/// Slot sizes that let what lies behind a slot into it, where that may be worth it.
std::vector<SlotSize> StagePacker::sizesThatFit(const SegmentPacking &packing) const {
  std::vector<SlotSize> found;
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, packing.segments)) {
    auto chunk = packing.arrangement.chunks.find(segment.chunk);
    if (chunk == packing.arrangement.chunks.end() || (packing.hasStep && segment.runsOnce()))
      continue;
    const ChunkSpace &space = chunk->second;
    int64_t endlessFrom = packing.arrangement.spaceOf(segment).endlessFrom();
    for (auto [lifetime, offset] : llvm::zip(segment.set.lifetimes, packed.offsets)) {
      int64_t below = 0;
      for (const PlacedBuffer &placed : space.placed)
        if (placed.offset < space.slotBytes && placed.lifetime.first <= lifetime.last &&
            lifetime.first <= placed.lifetime.last)
          below = std::max(below, placed.offset + placed.lifetime.bytes);
      int64_t size = roundUp(roundUp(below, alignment) + lifetime.bytes, grainBytes);
      if (offset >= endlessFrom && size > space.slotBytes &&
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
  bool hasPages = slots.pages.bytes + slots.leaves.bytes > 0;
  if (!hasPages && slots.chunks.size() == 1 && slots.chunks.begin()->second.slots == 1) {
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

/// Where the last byte of a pool's pages lies that anything uses.
int64_t StagePacker::usedBytes(const SegmentPacking &packing, PagePool SlotArrangement::*pool) const {
  const SlotArrangement &arrangement = packing.arrangement;
  int64_t used = 0;
  auto use = [&](const ChunkSpace &space, int64_t offset, int64_t bytes) {
    int64_t from = pool == &SlotArrangement::pages ? arrangement.pageFrom(space) : arrangement.leafFrom(space);
    if (offset >= from && offset < from + (arrangement.*pool).bytes)
      used = std::max(used, offset + bytes - from);
  };
  for (const auto &[index, space] : arrangement.chunks)
    for (const PlacedBuffer &placed : space.placed)
      use(space, placed.offset, placed.lifetime.bytes);
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, packing.segments))
    if (auto chunk = arrangement.chunks.find(segment.chunk);
        chunk != arrangement.chunks.end() && (arrangement.*pool).has(segment.chunk, segment.kind))
      for (auto [lifetime, offset] : llvm::zip(segment.set.lifetimes, packed.offsets))
        use(chunk->second, offset, lifetime.bytes);
  return roundUp(used, grainBytes);
}

/// Slots that let what lies in scratch into them, and pages or leaves of which there is one: a byte more of it is a
/// byte less of scratch, but in one piece with what it has.
std::vector<SlotArrangement> StagePacker::enlarged(const SegmentPacking &packing) const {
  const SlotArrangement &arrangement = packing.arrangement;
  std::vector<SlotArrangement> found;
  for (auto [chunk, bytes] : largerSlots(packing)) {
    found.push_back(arrangement);
    found.back().resize(chunk, bytes);
  }
  if (arrangement.lot || packing.scratchBytes == 0)
    return found;
  for (PagePool SlotArrangement::*pool : {&SlotArrangement::pages, &SlotArrangement::leaves}) {
    if ((arrangement.*pool).count != 1 || (arrangement.*pool).bytes == 0)
      continue;
    auto resized = [&](int64_t bytes) {
      SlotArrangement result = arrangement;
      if (pool == &SlotArrangement::pages)
        result.resizePages(bytes);
      else
        result.leaves.bytes = bytes;
      return result;
    };
    found.push_back(resized((arrangement.*pool).bytes + packing.scratchBytes));
    found.push_back(resized(usedBytes(packSegments(found.back(), /*goodBytes=*/0), pool)));
  }
  return found;
}

/// Takes a larger slot, page or leaf as long as that helps.
SegmentPacking StagePacker::enlarge(SegmentPacking packing, int64_t goodBytes) const {
  for (size_t step = 0; step < mostSteps && packing.bytes() > goodBytes; ++step) {
    int64_t before = packing.bytes();
    std::vector<SlotArrangement> larger = enlarged(packing);
    for (SlotArrangement &arrangement : larger) {
      if (arrangement.lot)
        arrangement.measureLot();
      if (leastBytesWithStep(stage, arrangement) >= packing.bytes())
        continue;
      if (SegmentPacking next = packWithRoom(arrangement, goodBytes); next.bytes() < packing.bytes())
        packing = std::move(next);
    }
    if (packing.bytes() == before)
      break;
  }
  return packing;
}

/// Arrangements by rising bounds, packed as long as the bound is below the best there is, a few of them.
void StagePacker::packFamily(const std::vector<SlotArrangement> &family, int64_t goodBytes,
                             SegmentPacking &best) const {
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [i, arrangement] : llvm::enumerate(family))
    order.emplace_back(leastBytesWithStep(stage, arrangement), i);
  llvm::sort(order);
  bool inLots = !family.empty() && family.front().lot;
  order.resize(std::min(order.size(), inLots ? mostLotsPacked : mostPacked));
  std::vector<SegmentPacking> packed;
  for (auto [least, i] : order) {
    if (least >= best.bytes() || best.bytes() <= goodBytes)
      break;
    packed.push_back(packWithRoom(family[i], goodBytes));
    if (packed.back().bytes() < best.bytes())
      best = packed.back();
  }
  llvm::stable_sort(packed, [](const SegmentPacking &a, const SegmentPacking &b) { return a.bytes() < b.bytes(); });
  packed.resize(std::min(packed.size(), inLots ? mostLotsEnlarged : mostEnlarged));
  for (SegmentPacking &packing : packed)
    if (best.bytes() > goodBytes)
      if (SegmentPacking larger = enlarge(std::move(packing), goodBytes); larger.bytes() < best.bytes())
        best = std::move(larger);
}

PackingResult StagePacker::pack() {
  SlotArrangement slots = arrangeSlots(lifetimes, alignment, grainBytes);
  int64_t least = slots.bytes() + leastScratchBytes(stage, slots, /*withOnce=*/true), live = leastLiveBytes(stage);
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
    for (const std::vector<SlotArrangement> &family :
         arrangePages(stage.op, lifetimes, slots, alignment, grainBytes, cache))
      packFamily(family, goodLive, best);
  if (best.bytes() > goodLive && !best.arrangement.lot)
    if (SegmentPacking withRoom = packWithRoom(best.arrangement, goodLive); withRoom.bytes() < best.bytes())
      best = std::move(withRoom);
  if (best.arrangement.lot && best.bytes() > goodLive)
    if (SegmentPacking last = packBoth(best.arrangement, goodLive, mostSearchedLast); last.bytes() < best.bytes())
      best = std::move(last);
  return {best, best.bytes() <= std::max(least, live)};
}

PackingResult tgpt::packStage(const StageToPack &stage) {
  return StagePacker(stage).pack();
}
