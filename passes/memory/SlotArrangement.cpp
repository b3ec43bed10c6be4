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
  case SegmentKind::Forward: return paging == Paging::WholeMicroBatch;
  case SegmentKind::Backward:
  case SegmentKind::WeightGradient: return paging != Paging::None;
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

/// What a forward keeps is live all together at the turn, so it may be stacked in any order: what waits for the weight
/// gradients at the bottom, then what the backward frees, the first on top, so that the room it leaves is in one piece.
static Packing stackForward(const std::vector<Lifetime> &kept, const StageLifetimes &lifetimes, int64_t alignment) {
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](size_t i) {
    bool waits = lifetimes.kindAt(kept[i].last) == SegmentKind::WeightGradient;
    return std::pair(!waits, waits ? 0 : -kept[i].last);
  };
  llvm::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  Packing packing;
  packing.offsets.resize(kept.size());
  for (size_t i : order) {
    packing.offsets[i] = roundUp(packing.endBytes, alignment);
    packing.endBytes = packing.offsets[i] + kept[i].bytes;
  }
  return packing;
}

/// What a backward keeps goes where the forward's has become free, and what does not fit there
/// into the page.
static bool pageFromBackward(const StageLifetimes &lifetimes, SlotArrangement &arrangement, int64_t alignment,
                             int64_t grainBytes) {
  for (auto &[index, space] : arrangement.chunks) {
    const std::vector<Lifetime> &kept = lifetimes.chunks.at(index).kept.lifetimes;
    std::vector<Lifetime> parts[2];
    for (const Lifetime &lifetime : kept)
      parts[lifetimes.kindAt(lifetime.first) != SegmentKind::Forward].push_back(lifetime);
    Packing forward = stackForward(parts[0], lifetimes, alignment);
    space.slotBytes = roundUp(forward.endBytes, grainBytes);
    Space slot;
    for (auto [lifetime, offset] : llvm::zip(parts[0], forward.offsets))
      slot.taken.push_back({lifetime, offset});
    llvm::stable_sort(slot.taken, [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; });
    slot.splits = {space.slotBytes};
    Packing backward = packBuffers(parts[1], alignment, slot);
    arrangement.pageBytes = std::max(arrangement.pageBytes, roundUp(backward.endBytes - space.slotBytes, grainBytes));
    size_t next[2] = {0, 0};
    for (auto [lifetime, offset] : llvm::zip(kept, space.offsets)) {
      bool isLater = lifetimes.kindAt(lifetime.first) != SegmentKind::Forward;
      offset = (isLater ? backward : forward).offsets[next[isLater]++];
    }
    setPlaced(space, kept);
  }
  return arrangement.pageBytes > 0;
}

std::optional<SlotArrangement> tgpt::arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes,
                                                  const SlotArrangement &slots, int64_t alignment, int64_t grainBytes) {
  planir::ScheduleOp schedule = stage.getSchedule();
  bool waits = llvm::any_of(lifetimes.segments,
                            [](const SegmentBuffers &segment) { return segment.kind == SegmentKind::WeightGradient; });
  if (!schedule || slots.chunks.empty() || (slots.chunks.size() == 1 && !waits))
    return std::nullopt;
  SlotArrangement arrangement = slots;
  arrangement.paging = slots.chunks.size() > 1 ? Paging::WholeMicroBatch : Paging::FromBackward;
  cost::DealtPages dealt = cost::dealOutPages(holdersOf(stage, schedule, arrangement));
  arrangement.pages = dealt.pages;
  arrangement.pageOfRun = std::move(dealt.pageOfRun);
  bool isPaged = arrangement.paging == Paging::WholeMicroBatch
                     ? shareAmongChunks(lifetimes, arrangement, alignment, grainBytes)
                     : pageFromBackward(lifetimes, arrangement, alignment, grainBytes);
  return isPaged ? std::optional(arrangement) : std::nullopt;
}
