//===- SlotArrangement.cpp - what a micro-batch keeps, in slots and pages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SlotArrangement.h"
#include "cost/PageSharing.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tgpt;
using planir::SegmentKind;

bool SlotArrangement::hasPage(SegmentKind kind) const {
  switch (kind) {
  case SegmentKind::Begin:
  case SegmentKind::Update: return false;
  case SegmentKind::Forward: return paging == Paging::WholeMicroBatch || paging == Paging::UntilBackward;
  case SegmentKind::Backward: return paging != Paging::None;
  case SegmentKind::WeightGradient: return paging == Paging::WholeMicroBatch || paging == Paging::FromBackward;
  }
  llvm_unreachable("a kind of the enum");
}

std::vector<int64_t> SlotArrangement::splitsOf(const SegmentBuffers &segment) const {
  auto chunk = chunks.find(segment.chunk);
  if (chunk == chunks.end())
    return {};
  std::vector<int64_t> splits = {chunk->second.slotBytes};
  if (hasPage(segment.kind))
    splits.push_back(chunk->second.slotBytes + pageBytes);
  return splits;
}

int64_t SlotArrangement::bytes() const {
  int64_t sum = pages * pageBytes;
  for (const auto &[index, chunk] : chunks)
    sum += chunk.slots * chunk.slotBytes;
  return sum;
}

/// Sorts what is placed by its offset.
static void setPlaced(ChunkSpace &space, const std::vector<Lifetime> &lifetimes) {
  space.placed.clear();
  for (auto [lifetime, offset] : llvm::zip(lifetimes, space.offsets))
    space.placed.push_back({lifetime, offset});
  llvm::stable_sort(space.placed, [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; });
}

SlotArrangement tgpt::arrangeSlots(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes) {
  SlotArrangement arrangement;
  for (const auto &[index, chunk] : lifetimes.chunks) {
    ChunkSpace &space = arrangement.chunks[index];
    Packing packing = packBuffers(chunk.kept.lifetimes, alignment);
    space.slots = chunk.slots;
    space.slotBytes = roundUp(packing.endBytes, grainBytes);
    space.offsets = packing.offsets;
    setPlaced(space, chunk.kept.lifetimes);
  }
  return arrangement;
}

/// Whose page each run of the schedule uses.
static std::vector<std::optional<cost::PageHolder>> holdersOf(planir::StageOp stage, planir::ScheduleOp schedule,
                                                              const SlotArrangement &arrangement) {
  llvm::StringMap<planir::SegmentOp> segments;
  for (auto segment : stage.getBody().getOps<planir::SegmentOp>())
    segments[segment.getName()] = segment;
  std::vector<std::optional<cost::PageHolder>> holders;
  for (auto run : schedule.getRuns().getAsRange<planir::RunAttr>()) {
    planir::SegmentOp segment = segments.lookup(run.getSegment().getValue());
    bool isPaged =
        arrangement.hasPage(segment.getKind()) && arrangement.chunks.count(static_cast<int64_t>(segment.getChunk()));
    holders.push_back(isPaged ? std::optional(cost::PageHolder(segment.getChunk(), run.getMicroBatch()))
                              : std::nullopt);
  }
  return holders;
}

/// Which of what a chunk keeps goes into a page of at most so many bytes: the largest that still fit.
static std::vector<char> choosePaged(const std::vector<Lifetime> &kept, int64_t mostBytes, int64_t alignment) {
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return kept[a].bytes > kept[b].bytes; });
  std::vector<char> isInPage(kept.size());
  for (size_t i : order)
    if (int64_t bytes = roundUp(kept[i].bytes, alignment); bytes <= mostBytes) {
      isInPage[i] = true;
      mostBytes -= bytes;
    }
  return isInPage;
}

/// Splits what a chunk keeps into its slot and a page of at most so many bytes, which lies behind the slot in its
/// space. The bytes of the page.
static int64_t splitChunk(const std::vector<Lifetime> &kept, ChunkSpace &space, int64_t mostBytes, int64_t alignment,
                          int64_t grainBytes) {
  std::vector<char> isInPage = choosePaged(kept, mostBytes, alignment);
  std::vector<Lifetime> parts[2];
  for (auto [lifetime, paged] : llvm::zip(kept, isInPage))
    parts[static_cast<size_t>(paged)].push_back(lifetime);
  Packing slot = packBuffers(parts[0], alignment), page = packBuffers(parts[1], alignment);
  space.slotBytes = roundUp(slot.endBytes, grainBytes);
  size_t inSlot = 0, inPage = 0;
  for (auto [offset, paged] : llvm::zip(space.offsets, isInPage))
    offset = paged ? space.slotBytes + page.offsets[inPage++] : slot.offsets[inSlot++];
  setPlaced(space, kept);
  return roundUp(page.endBytes, grainBytes);
}

/// Chunks share pages as large as what one of them keeps: the one with which slots and pages take least.
static bool shareAmongChunks(const StageLifetimes &lifetimes, SlotArrangement &arrangement, int64_t alignment,
                             int64_t grainBytes) {
  const SlotArrangement slots = arrangement;
  int64_t least = slots.bytes() - slots.pages * slots.pageBytes;
  std::set<int64_t> sizes;
  std::vector<cost::SlotGroup> groups;
  for (const auto &[index, space] : slots.chunks) {
    sizes.insert(space.slotBytes);
    groups.push_back({space.slots, space.slotBytes});
  }
  int64_t bound = cost::bytesWithPages(groups, slots.pages, cost::bestPageBytes(groups, slots.pages));
  for (int64_t mostBytes : sizes) {
    if (least <= bound) // as good as where every byte may be in either
      break;
    SlotArrangement candidate = slots;
    for (auto &[index, space] : candidate.chunks)
      candidate.pageBytes = std::max(candidate.pageBytes, splitChunk(lifetimes.chunks.at(index).kept.lifetimes, space,
                                                                     mostBytes, alignment, grainBytes));
    if (candidate.bytes() >= least)
      continue;
    least = candidate.bytes();
    arrangement = candidate;
  }
  return arrangement.pageBytes > 0;
}

/// Stacks what is live all together at some time, so that the room it leaves before or after is in one piece: by a key.
template <typename Key> static Packing stackBy(const std::vector<Lifetime> &kept, int64_t alignment, Key key) {
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return key(kept[a]) < key(kept[b]); });
  Packing packing;
  packing.offsets.resize(kept.size());
  for (size_t i : order) {
    packing.offsets[i] = roundUp(packing.endBytes, alignment);
    packing.endBytes = packing.offsets[i] + kept[i].bytes;
  }
  return packing;
}

/// Puts some of what the only chunk keeps into its slot, stacked by a key, and the rest where that leaves room, else
/// into the page. False where no page is needed.
template <typename IsInSlot, typename Key>
static bool pageTheRest(const StageLifetimes &lifetimes, SlotArrangement &arrangement, int64_t alignment,
                        int64_t grainBytes, IsInSlot isInSlot, Key key) {
  auto &[index, space] = *arrangement.chunks.begin();
  const std::vector<Lifetime> &kept = lifetimes.chunks.at(index).kept.lifetimes;
  std::vector<Lifetime> parts[2];
  for (const Lifetime &lifetime : kept)
    parts[!isInSlot(lifetime)].push_back(lifetime);
  Packing first = stackBy(parts[0], alignment, key);
  space.slotBytes = roundUp(first.endBytes, grainBytes);
  Space slot;
  for (auto [lifetime, offset] : llvm::zip(parts[0], first.offsets))
    slot.taken.push_back({lifetime, offset});
  llvm::stable_sort(slot.taken, [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; });
  slot.splits = {space.slotBytes};
  Packing rest = packBuffers(parts[1], alignment, slot);
  arrangement.pageBytes = roundUp(rest.endBytes - space.slotBytes, grainBytes);
  size_t next[2] = {0, 0};
  for (auto [lifetime, offset] : llvm::zip(kept, space.offsets)) {
    bool isRest = !isInSlot(lifetime);
    offset = (isRest ? rest : first).offsets[next[isRest]++];
  }
  setPlaced(space, kept);
  return arrangement.pageBytes > 0;
}

/// What a backward keeps goes where the forward's has become free: what waits for the weight gradients is at the
/// bottom, then what the backward frees, the first on top.
static bool pageFromBackward(const StageLifetimes &lifetimes, SlotArrangement &arrangement, int64_t alignment,
                             int64_t grainBytes) {
  auto isMadeForward = [&](const Lifetime &kept) { return lifetimes.kindAt(kept.first) == SegmentKind::Forward; };
  auto key = [&](const Lifetime &kept) {
    bool waits = lifetimes.kindAt(kept.last) == SegmentKind::WeightGradient;
    return std::pair(!waits, waits ? 0 : -kept.last);
  };
  return pageTheRest(lifetimes, arrangement, alignment, grainBytes, isMadeForward, key);
}

/// What a backward frees goes where it will put what it keeps, the last on top.
static bool pageUntilBackward(const StageLifetimes &lifetimes, SlotArrangement &arrangement, int64_t alignment,
                              int64_t grainBytes) {
  auto waits = [&](const Lifetime &kept) { return lifetimes.kindAt(kept.last) == SegmentKind::WeightGradient; };
  return pageTheRest(lifetimes, arrangement, alignment, grainBytes, waits,
                     [](const Lifetime &kept) { return kept.first; });
}

std::vector<SlotArrangement> tgpt::arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes,
                                                const SlotArrangement &slots, int64_t alignment, int64_t grainBytes) {
  planir::ScheduleOp schedule = stage.getSchedule();
  bool waits = llvm::any_of(lifetimes.segments,
                            [](const SegmentBuffers &segment) { return segment.kind == SegmentKind::WeightGradient; });
  if (!schedule || slots.chunks.empty() || (slots.chunks.size() == 1 && !waits))
    return {};
  std::vector<SlotArrangement> found;
  auto tryPaging = [&](Paging paging, auto arrange) {
    SlotArrangement arrangement = slots;
    arrangement.paging = paging;
    cost::DealtPages dealt = cost::dealOutPages(holdersOf(stage, schedule, arrangement));
    arrangement.pages = dealt.pages;
    arrangement.pageOfRun = std::move(dealt.pageOfRun);
    if (arrange(lifetimes, arrangement, alignment, grainBytes))
      found.push_back(std::move(arrangement));
  };
  if (slots.chunks.size() > 1) {
    tryPaging(Paging::WholeMicroBatch, shareAmongChunks);
  } else {
    tryPaging(Paging::FromBackward, pageFromBackward);
    tryPaging(Paging::UntilBackward, pageUntilBackward);
  }
  return found;
}
