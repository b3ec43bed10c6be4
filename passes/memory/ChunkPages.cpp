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

/// Chunks share pages as large as what one of them keeps: the size with which slots and pages take least.
static std::optional<SlotArrangement> shareAmongChunks(const PageContext &context) {
  const auto &[stage, lifetimes, slots, alignment, grainBytes, cache] = context;
  SlotArrangement base = slots;
  for (const auto &[index, space] : slots.chunks)
    base.pages.holdings[index] = Holding::WholeMicroBatch;
  base.pages.deal(stage);
  int64_t least = slots.bytes();
  std::set<int64_t> sizes;
  std::vector<cost::SlotGroup> groups;
  for (const auto &[index, space] : slots.chunks) {
    sizes.insert(space.slotBytes);
    groups.push_back({space.slots, space.slotBytes});
  }
  int64_t bound = cost::bytesWithPages(groups, base.pages.count, cost::bestPageBytes(groups, base.pages.count));
  std::optional<SlotArrangement> best;
  for (int64_t mostBytes : sizes) {
    if (least <= bound) // as good as where every byte may be in either
      break;
    std::map<int64_t, ChunkParts> parts;
    for (const auto &[index, space] : slots.chunks)
      parts.emplace(index,
                    splitChunk(lifetimes.chunks.at(index).kept.lifetimes, mostBytes, alignment, grainBytes, cache));
    SlotArrangement candidate = base;
    setParts(lifetimes, parts, candidate);
    if (candidate.bytes() >= least)
      continue;
    least = candidate.bytes();
    best = std::move(candidate);
  }
  return best;
}

/// What a chunk has in slots becomes leaves in which other chunks' backwards have room, where these are no more.
static void lendSlots(planir::StageOp stage, const StageLifetimes &lifetimes, const SlotArrangement &slots,
                      std::vector<SlotArrangement> &found) {
  for (const auto &[lender, space] : slots.chunks) {
    if (space.slotBytes == 0)
      continue;
    SlotArrangement lent = slots;
    for (const auto &[index, other] : slots.chunks)
      lent.leaves.holdings[index] = index == lender ? Holding::WholeMicroBatch : Holding::Backward;
    lent.leaves.deal(stage);
    if (lent.leaves.count > space.slots)
      continue;
    lent.leaves.bytes = space.slotBytes;
    for (auto &[index, other] : lent.chunks) {
      std::vector<int64_t> offsets = other.offsets;
      if (index == lender) {
        for (int64_t &offset : offsets) // slot and page change places
          offset += offset < space.slotBytes ? slots.pages.bytes : -space.slotBytes;
        other.slotBytes = 0;
      }
      other.setOffsets(std::move(offsets), lifetimes.chunks.at(index).kept.lifetimes);
    }
    found.push_back(std::move(lent));
  }
}

void tgpt::arrangeAmongChunks(const PageContext &context, std::vector<SlotArrangement> &found) {
  if (auto shared = shareAmongChunks(context)) {
    found.push_back(*shared);
    lendSlots(context.stage, context.lifetimes, *shared, found);
  }
  lendSlots(context.stage, context.lifetimes, context.slots, found);
}
