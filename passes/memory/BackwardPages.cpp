//===- BackwardPages.cpp - pages until the backward, leaves from it on ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With weight gradients that wait a micro-batch keeps three things: what lives from its
// forward to its weight gradients (W below), what its backward frees (F), and what its backward
// makes (B). W has a slot. F has a page until the backward, B a leaf from it on, and they are
// never full all at once:
//
//   micro-batches in flight    F  F  F  F+B  B  B
//   slots                      W  W  W   W   W  W
//   pages                      F  F  F   F
//   leaves                               B   B  B
//
// In its backward a micro-batch would leave the bytes that F has freed before B needs as many.
// So a part of either lies in the slot, where these are the same bytes: of F what is freed first,
// of B what is made last. How much of it, is tried out.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PageParts.h"
#include <algorithm>
#include <limits>
#include <set>

using namespace mlir;
using namespace tgpt;
using planir::SegmentKind;

/// Sizes of pages that are tried out, at least and at most, and buffers that they may cost to place in all.
static constexpr int64_t fewestSizes = 3, mostSizes = 16, mostPlaced = 2000;

namespace {

/// Places one behind the other, in the order given. Their end.
int64_t stack(const std::vector<Lifetime> &kept, const KeptIndices &order, int64_t from, int64_t alignment,
              std::vector<int64_t> &offsets) {
  for (size_t i : order) {
    offsets[i] = roundUp(from, alignment);
    from = offsets[i] + kept[i].bytes;
  }
  return from;
}

template <typename Key> void sortBy(KeptIndices &indices, Key key) {
  llvm::stable_sort(indices, [&](size_t a, size_t b) { return key(a) < key(b); });
}

/// Which of the two is cut to a size; the other one has what then finds no room in the slot.
enum class Sized { Pages, Leaves };

/// Deals out what chunks keep while weight gradients wait.
class BackwardDealer {
public:
  BackwardDealer(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes, PackingCache &cache)
      : lifetimes(lifetimes), alignment(alignment), grainBytes(grainBytes), cache(cache) {}

  /// Sizes worth trying: the sums of what is paged first.
  std::vector<int64_t> sizes(Sized sized) const;
  /// All chunks, with parts of at most `sizeBytes` of what is sized, and of `restBytes` of the other.
  std::map<int64_t, ChunkParts> deal(Sized sized, int64_t sizeBytes, int64_t restBytes) const;

private:
  /// W, F and B of a chunk: F with the last one first that is freed, B as it is made.
  struct Classes {
    KeptIndices whole, untilBackward, fromBackward;
  };
  Classes classesOf(const KeptChunk &chunk) const;
  ChunkParts dealChunk(const KeptChunk &chunk, Sized sized, int64_t sizeBytes, int64_t restBytes) const;
  int64_t placeRest(const std::vector<Lifetime> &kept, const KeptIndices &stacked, const KeptIndices &rest,
                    ChunkParts &parts) const;

  const StageLifetimes &lifetimes;
  int64_t alignment, grainBytes;
  PackingCache &cache;
};

} // namespace

BackwardDealer::Classes BackwardDealer::classesOf(const KeptChunk &chunk) const {
  Classes classes;
  const std::vector<Lifetime> &kept = chunk.kept.lifetimes;
  for (auto [i, lifetime] : llvm::enumerate(kept)) {
    bool waits = lifetimes.kindAt(lifetime.last) == SegmentKind::WeightGradient;
    bool isMadeForward = lifetimes.kindAt(lifetime.first) == SegmentKind::Forward;
    (!waits ? classes.untilBackward : isMadeForward ? classes.whole : classes.fromBackward).push_back(i);
  }
  sortBy(classes.untilBackward, [&](size_t i) { return -kept[i].last; });
  sortBy(classes.fromBackward, [&](size_t i) { return kept[i].first; });
  return classes;
}

std::vector<int64_t> BackwardDealer::sizes(Sized sized) const {
  std::set<int64_t> sums = {0};
  int64_t buffers = 0;
  for (const auto &[index, chunk] : lifetimes.chunks) {
    Classes classes = classesOf(chunk);
    int64_t sum = 0;
    for (size_t i : sized == Sized::Pages ? classes.untilBackward : classes.fromBackward)
      sums.insert(sum += roundUp(chunk.kept.lifetimes[i].bytes, alignment));
    buffers += static_cast<int64_t>(chunk.kept.lifetimes.size());
  }
  int64_t most = std::clamp(mostPlaced / std::max<int64_t>(buffers, 1), fewestSizes, mostSizes);
  std::vector<int64_t> all(sums.begin(), sums.end()), chosen;
  int64_t last = static_cast<int64_t>(all.size()) - 1, steps = std::min(most - 1, std::max<int64_t>(last, 1));
  for (int64_t step = 0; step <= steps; ++step)
    chosen.push_back(all[last * step / steps]);
  return chosen;
}

/// Places the rest where what is stacked leaves room in the slot, else behind it. The bytes behind it.
int64_t BackwardDealer::placeRest(const std::vector<Lifetime> &kept, const KeptIndices &stacked,
                                  const KeptIndices &rest, ChunkParts &parts) const {
  Space slot;
  for (size_t i : stacked)
    slot.taken.push_back({kept[i], parts.offsets[i]});
  slot.splits = {parts.slotBytes};
  std::vector<Lifetime> buffers;
  for (size_t i : rest)
    buffers.push_back(kept[i]);
  const Packing &packing = cache.pack(buffers, alignment, slot);
  for (auto [i, offset] : llvm::zip(rest, packing.offsets))
    parts.offsets[i] = offset;
  return packing.endBytes - parts.slotBytes;
}

ChunkParts BackwardDealer::dealChunk(const KeptChunk &chunk, Sized sized, int64_t sizeBytes, int64_t restBytes) const {
  const std::vector<Lifetime> &kept = chunk.kept.lifetimes;
  Classes classes = classesOf(chunk);
  bool isPages = sized == Sized::Pages;
  ChunkParts parts(kept.size());
  KeptIndices &inSlot = isPages ? classes.untilBackward : classes.fromBackward;
  KeptIndices paged = takeUpTo(sizeBytes, kept, alignment, inSlot);
  int64_t pagedBytes = roundUp(stack(kept, paged, 0, alignment, parts.offsets), grainBytes);
  KeptIndices stacked = classes.whole, rest = isPages ? classes.fromBackward : classes.untilBackward;
  if (!isPages) // the last one made is on top
    std::reverse(inSlot.begin(), inSlot.end());
  llvm::append_range(stacked, inSlot);
  int64_t behind = 0;
  for (int pass = 0; pass < 2; ++pass) { // what is too much for a page is stacked too
    parts.slotBytes = roundUp(stack(kept, stacked, 0, alignment, parts.offsets), grainBytes);
    behind = placeRest(kept, stacked, rest, parts);
    KeptIndices within, beyond;
    for (size_t i : rest)
      (parts.offsets[i] + kept[i].bytes > parts.slotBytes + restBytes ? beyond : within).push_back(i);
    if (beyond.empty() || pass == 1)
      break;
    llvm::append_range(stacked, beyond);
    rest = within;
  }
  auto &isPaged = isPages ? parts.isInPage : parts.isInLeaf, &isRest = isPages ? parts.isInLeaf : parts.isInPage;
  for (size_t i : paged)
    isPaged[i] = true;
  for (size_t i : rest)
    if (parts.offsets[i] >= parts.slotBytes) {
      isRest[i] = true;
      parts.offsets[i] -= parts.slotBytes;
    }
  behind = roundUp(behind, grainBytes);
  parts.pageBytes = isPages ? pagedBytes : behind;
  parts.leafBytes = isPages ? behind : pagedBytes;
  return parts;
}

std::map<int64_t, ChunkParts> BackwardDealer::deal(Sized sized, int64_t sizeBytes, int64_t restBytes) const {
  std::map<int64_t, ChunkParts> parts;
  for (const auto &[index, chunk] : lifetimes.chunks)
    parts.emplace(index, dealChunk(chunk, sized, sizeBytes, restBytes));
  return parts;
}

void tgpt::arrangeAroundBackward(const PageContext &context, std::vector<SlotArrangement> &found) {
  SlotArrangement base = context.slots;
  for (const auto &[index, chunk] : context.slots.chunks) {
    base.pages.holdings[index] = Holding::UntilBackward;
    base.leaves.holdings[index] = Holding::FromBackward;
  }
  base.pages.deal(context.stage);
  base.leaves.deal(context.stage);
  BackwardDealer dealer(context.lifetimes, context.alignment, context.grainBytes, context.cache);
  auto add = [&](const std::map<int64_t, ChunkParts> &parts) {
    found.push_back(base);
    setParts(context.lifetimes, parts, found.back());
  };
  for (Sized sized : {Sized::Pages, Sized::Leaves})
    for (int64_t size : dealer.sizes(sized)) {
      std::map<int64_t, ChunkParts> parts = dealer.deal(sized, size, std::numeric_limits<int64_t>::max() / 2);
      add(parts);
      int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
      for (const auto &[index, chunk] : parts) {
        int64_t rest = sized == Sized::Pages ? chunk.leafBytes : chunk.pageBytes;
        least = std::min(least, rest);
        most = std::max(most, rest);
      }
      if (least < most) // of chunks that are not alike
        add(dealer.deal(sized, size, least));
    }
}
