//===- PageParts.h - what chunks keep, dealt out to slots, pages and leaves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the ways to use pages and leaves have in common (BackwardPages.cpp, ChunkPages.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_PAGEPARTS_H
#define TGPT_PASSES_MEMORY_PAGEPARTS_H

#include "passes/memory/SlotArrangement.h"
#include <optional>
#include <set>

namespace tgpt {

/// Some of what a chunk keeps, by index.
using KeptIndices = std::vector<size_t>;

/// The first ones that fit into so many bytes leave `from`.
KeptIndices takeUpTo(int64_t bytes, const std::vector<Lifetime> &kept, int64_t alignment, KeptIndices &from);

/// What a chunk keeps, dealt out to slot, page and leaf.
struct ChunkParts {
  std::vector<int64_t> offsets; ///< within the part
  std::vector<char> isInPage, isInLeaf;
  int64_t slotBytes = 0, pageBytes = 0, leafBytes = 0;

  explicit ChunkParts(size_t count) : offsets(count), isInPage(count), isInLeaf(count) {}
};

/// All of it in the slot, as it lies without pages.
ChunkParts partsInSlot(const ChunkSpace &slot);

/// Chunks that may have pages: all, and where others keep less than half as much as the largest, all but these.
std::vector<std::set<int64_t>> chunksWorthPages(const SlotArrangement &slots);

/// Slots, pages and leaves as large as the parts of the chunks need them.
void setParts(const StageLifetimes &lifetimes, const std::map<int64_t, ChunkParts> &parts,
              SlotArrangement &arrangement);

/// What the ways to arrange pages need.
struct PageContext {
  planir::StageOp stage;
  const StageLifetimes &lifetimes;
  const SlotArrangement &slots; ///< without pages
  int64_t alignment, grainBytes;
  PackingCache &cache;
};

/// Adds an arrangement in a lot, where that may be less than so many bytes; `alike` is the lot of one whose segments
/// have pages and leaves alike, if there was one. One chunk has no more slots, pages and leaves than it holds at one
/// time.
void addInLot(planir::StageOp stage, const SlotArrangement &arrangement, int64_t bytes, Lot &alike,
              std::vector<SlotArrangement> &found);

/// Adds arrangements that were dealt out alike, and the same ones with pages and leaves that segments have alone.
void addFamily(const PageContext &context, std::vector<SlotArrangement> family, Families &found);

/// Pages until the backward and leaves from it on, of several sizes.
void arrangeAroundBackward(const PageContext &context, Families &found);

/// Pages that chunks share, and slots of one chunk lent to the others.
void arrangeAmongChunks(const PageContext &context, Families &found);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_PAGEPARTS_H
