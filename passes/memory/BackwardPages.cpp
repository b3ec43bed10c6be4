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

/// How what chunks keep is dealt out.
struct Dealing {
  const std::set<int64_t> &chunks; ///< that have pages and leaves
  Sized sized;
  bool isTurned;                                               ///< what weight gradients free first lies side by side
  int64_t sizeBytes = 0;                                       ///< at most, of what is sized
  int64_t restBytes = std::numeric_limits<int64_t>::max() / 2; ///< at most, of the other
};

/// Deals out what chunks keep while weight gradients wait.
class BackwardDealer {
public:
  explicit BackwardDealer(const PageContext &context) : context(context) {}

  /// Sizes worth trying: the sums of what is paged first.
  std::vector<int64_t> sizes(Sized sized, const std::set<int64_t> &chunks) const;
  std::map<int64_t, ChunkParts> deal(const Dealing &dealing) const;

private:
  /// W, F and B of a chunk: F with the last one first that is freed, B as it is made.
  struct Classes {
    KeptIndices whole, untilBackward, fromBackward;
  };
  Classes classesOf(const KeptChunk &chunk) const;
  ChunkParts dealChunk(const KeptChunk &chunk, const Dealing &dealing) const;
  int64_t placeRest(const std::vector<Lifetime> &kept, const KeptIndices &stacked, const KeptIndices &rest,
                    ChunkParts &parts) const;

  const PageContext &context;
};

} // namespace

BackwardDealer::Classes BackwardDealer::classesOf(const KeptChunk &chunk) const {
  Classes classes;
  const std::vector<Lifetime> &kept = chunk.kept.lifetimes;
  for (auto [i, lifetime] : llvm::enumerate(kept)) {
    bool waits = context.lifetimes.kindAt(lifetime.last) == SegmentKind::WeightGradient;
    bool isMadeForward = context.lifetimes.kindAt(lifetime.first) == SegmentKind::Forward;
    (!waits ? classes.untilBackward : isMadeForward ? classes.whole : classes.fromBackward).push_back(i);
  }
  sortBy(classes.untilBackward, [&](size_t i) { return -kept[i].last; });
  sortBy(classes.fromBackward, [&](size_t i) { return kept[i].first; });
  return classes;
}

std::vector<int64_t> BackwardDealer::sizes(Sized sized, const std::set<int64_t> &chunks) const {
  std::set<int64_t> sums = {0};
  int64_t buffers = 0;
  for (int64_t index : chunks) {
    const KeptChunk &chunk = context.lifetimes.chunks.at(index);
    Classes classes = classesOf(chunk);
    int64_t sum = 0;
    for (size_t i : sized == Sized::Pages ? classes.untilBackward : classes.fromBackward)
      sums.insert(sum += roundUp(chunk.kept.lifetimes[i].bytes, context.alignment));
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
  const Packing &packing = context.cache.pack(buffers, context.alignment, slot);
  for (auto [i, offset] : llvm::zip(rest, packing.offsets))
    parts.offsets[i] = offset;
  return packing.endBytes - parts.slotBytes;
}

ChunkParts BackwardDealer::dealChunk(const KeptChunk &chunk, const Dealing &dealing) const {
  const std::vector<Lifetime> &kept = chunk.kept.lifetimes;
  int64_t alignment = context.alignment, grainBytes = context.grainBytes;
  Classes classes = classesOf(chunk);
  bool isPages = dealing.sized == Sized::Pages;
  ChunkParts parts(kept.size());
  KeptIndices &inSlot = isPages ? classes.untilBackward : classes.fromBackward;
  KeptIndices paged = takeUpTo(dealing.sizeBytes, kept, alignment, inSlot);
  int64_t pagedBytes = roundUp(stack(kept, paged, 0, alignment, parts.offsets), grainBytes);
  KeptIndices stacked = classes.whole, rest = isPages ? classes.fromBackward : classes.untilBackward;
  if (dealing.isTurned)
    sortBy(stacked, [&](size_t i) { return -kept[i].last; });
  if (isPages == dealing.isTurned) // the first one freed is at the bottom, else on top
    std::reverse(inSlot.begin(), inSlot.end());
  llvm::append_range(stacked, inSlot);
  int64_t behind = 0;
  for (int pass = 0; pass < 2; ++pass) { // what is too much for a page is stacked too
    parts.slotBytes = roundUp(stack(kept, stacked, 0, alignment, parts.offsets), grainBytes);
    behind = placeRest(kept, stacked, rest, parts);
    KeptIndices within, beyond;
    for (size_t i : rest)
      (parts.offsets[i] + kept[i].bytes > parts.slotBytes + dealing.restBytes ? beyond : within).push_back(i);
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

std::map<int64_t, ChunkParts> BackwardDealer::deal(const Dealing &dealing) const {
  std::map<int64_t, ChunkParts> parts;
  for (const auto &[index, chunk] : context.lifetimes.chunks)
    parts.emplace(index, dealing.chunks.contains(index) ? dealChunk(chunk, dealing)
                                                        : partsInSlot(context.slots.chunks.at(index)));
  return parts;
}

namespace {

/// Arrangements of some chunks.
class BackwardFamily {
public:
  BackwardFamily(const PageContext &context, const std::set<int64_t> &chunks)
      : context(context), dealer(context), chunks(chunks), base(context.slots) {
    for (int64_t index : chunks) {
      base.pages.holdings[index] = Holding::UntilBackward;
      base.leaves.holdings[index] = Holding::FromBackward;
    }
    base.deal(context.stage);
  }

  std::vector<SlotArrangement> make() {
    for (bool isTurned : {false, true})
      for (Sized sized : {Sized::Pages, Sized::Leaves})
        for (int64_t size : dealer.sizes(sized, chunks))
          addSize({chunks, sized, isTurned, size});
    return std::move(made);
  }

private:
  void add(const std::map<int64_t, ChunkParts> &parts) {
    made.push_back(base);
    setParts(context.lifetimes, parts, made.back());
  }

  void addSize(Dealing dealing) {
    std::map<int64_t, ChunkParts> parts = dealer.deal(dealing);
    add(parts);
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (int64_t index : chunks) {
      const ChunkParts &chunk = parts.at(index);
      int64_t rest = dealing.sized == Sized::Pages ? chunk.leafBytes : chunk.pageBytes;
      least = std::min(least, rest);
      most = std::max(most, rest);
    }
    dealing.restBytes = least;
    if (least < most) // of chunks that are not alike
      add(dealer.deal(dealing));
  }

  const PageContext &context;
  BackwardDealer dealer;
  const std::set<int64_t> &chunks;
  SlotArrangement base;
  std::vector<SlotArrangement> made;
};

} // namespace

void tgpt::arrangeAroundBackward(const PageContext &context, Families &found) {
  for (const std::set<int64_t> &chunks : chunksWorthPages(context.slots))
    addFamily(context, BackwardFamily(context, chunks).make(), found);
}
