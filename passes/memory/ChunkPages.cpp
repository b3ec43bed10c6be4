//===- ChunkPages.cpp - pages that chunks share, and slots that they lend ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With several chunks a page holds what each of them keeps, up to a size that is tried out. Where
// a chunk keeps more, and never while another one is in its backward, what is more lies in a leaf,
// in which the backward of the others has room.
//
//===----------------------------------------------------------------------===//

#include "cost/PageSharing.h"
#include "passes/memory/PageParts.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tgpt;

/// Which of what a chunk keeps goes into a page of at most so many bytes: the largest that still fit.
static std::vector<char> choosePaged(const std::vector<Lifetime> &kept, int64_t mostBytes, int64_t alignment) {
  KeptIndices order(kept.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) { return kept[a].bytes > kept[b].bytes; });
  std::vector<char> isInPage(kept.size());
  for (size_t i : takeUpTo(mostBytes, kept, alignment, order))
    isInPage[i] = true;
  return isInPage;
}

/// Splits what a chunk keeps into its slot and a page of at most so many bytes.
static ChunkParts splitChunk(const std::vector<Lifetime> &kept, int64_t mostBytes, int64_t alignment,
                             int64_t grainBytes, PackingCache &cache) {
  ChunkParts parts(kept.size());
  parts.isInPage = choosePaged(kept, mostBytes, alignment);
  std::vector<Lifetime> buffers[2];
  for (auto [lifetime, paged] : llvm::zip(kept, parts.isInPage))
    buffers[static_cast<size_t>(paged)].push_back(lifetime);
  Packing slot = cache.pack(buffers[0], alignment, {}), page = cache.pack(buffers[1], alignment, {});
  size_t inSlot = 0, inPage = 0;
  for (auto [offset, paged] : llvm::zip(parts.offsets, parts.isInPage))
    offset = paged ? page.offsets[inPage++] : slot.offsets[inSlot++];
  parts.slotBytes = roundUp(slot.endBytes, grainBytes);
  parts.pageBytes = roundUp(page.endBytes, grainBytes);
  return parts;
}

/// Slots and pages of at most so many bytes, dealt out as `base` is, for what some chunks keep.
static SlotArrangement splitAt(int64_t mostBytes, const std::set<int64_t> &chunks, const SlotArrangement &base,
                               const PageContext &context) {
  std::map<int64_t, ChunkParts> parts;
  for (const auto &[index, space] : context.slots.chunks)
    parts.emplace(index, chunks.contains(index)
                             ? splitChunk(context.lifetimes.chunks.at(index).kept.lifetimes, mostBytes,
                                          context.alignment, context.grainBytes, context.cache)
                             : partsInSlot(space));
  SlotArrangement split = base;
  setParts(context.lifetimes, parts, split);
  return split;
}

/// Some chunks share pages as large as what one of them keeps: the size with which slots and pages take least. And in
/// lots all sizes, as parts that are alike fill each other's places.
static std::optional<SlotArrangement> shareAmong(const std::set<int64_t> &chunks, const PageContext &context,
                                                 std::vector<SlotArrangement> &inLots) {
  const SlotArrangement &slots = context.slots;
  SlotArrangement base = slots;
  for (int64_t index : chunks)
    base.pages.holdings[index] = Holding::WholeMicroBatch;
  base.deal(context.stage);
  int64_t least = slots.bytes(), others = least;
  std::set<int64_t> sizes;
  std::vector<cost::SlotGroup> groups;
  for (int64_t index : chunks) {
    const ChunkSpace &space = slots.chunks.at(index);
    sizes.insert(space.slotBytes);
    groups.push_back({space.slots, space.slotBytes});
    others -= space.slots * space.slotBytes;
  }
  int64_t bound =
      others + cost::bytesWithPages(groups, base.pages.count, cost::bestPageBytes(groups, base.pages.count));
  std::optional<SlotArrangement> best;
  Lot alike;
  for (int64_t mostBytes : sizes) {
    SlotArrangement candidate = splitAt(mostBytes, chunks, base, context);
    addInLot(context.stage, candidate, slots.bytes(), alike, inLots);
    if (least <= bound || candidate.bytes() >= least) // as good as where every byte may be in either
      continue;
    least = candidate.bytes();
    best = std::move(candidate);
  }
  return best;
}

/// What a chunk has in slots becomes leaves in which other chunks' backwards have room, where these are no more.
static void lendSlots(const PageContext &context, const SlotArrangement &slots, Families &found) {
  for (const auto &[lender, space] : slots.chunks) {
    if (space.slotBytes == 0)
      continue;
    SlotArrangement lent = slots;
    for (const auto &[index, other] : slots.chunks)
      lent.leaves.holdings[index] = index == lender ? Holding::WholeMicroBatch : Holding::Backward;
    lent.deal(context.stage);
    if (lent.leaves.count > space.slots)
      continue;
    lent.leaves.bytes = space.slotBytes;
    for (auto &[index, other] : lent.chunks) {
      std::vector<int64_t> offsets = other.offsets;
      other.leafBytes = lent.leaves.bytes;
      if (index == lender) {
        for (int64_t &offset : offsets) // slot and page change places
          offset += offset < space.slotBytes ? slots.pages.bytes : -space.slotBytes;
        other.slotBytes = 0;
      }
      other.setOffsets(std::move(offsets), context.lifetimes.chunks.at(index).kept.lifetimes);
    }
    addFamily(context, {lent}, found);
  }
}

void tgpt::arrangeAmongChunks(const PageContext &context, Families &found) {
  std::vector<SlotArrangement> inLots;
  Lot alike;
  addInLot(context.stage, context.slots, context.slots.bytes(), alike, inLots);
  for (const std::set<int64_t> &chunks : chunksWorthPages(context.slots))
    if (auto shared = shareAmong(chunks, context, inLots)) {
      addFamily(context, {*shared}, found);
      lendSlots(context, *shared, found);
    }
  lendSlots(context, context.slots, found);
  if (!inLots.empty())
    found.push_back(std::move(inLots));
}
