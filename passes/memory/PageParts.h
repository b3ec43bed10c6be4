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

/// Pages until the backward and leaves from it on, of several sizes.
void arrangeAroundBackward(const PageContext &context, std::vector<SlotArrangement> &found);

/// Pages that chunks share, and slots of one chunk lent to the others.
void arrangeAmongChunks(const PageContext &context, std::vector<SlotArrangement> &found);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_PAGEPARTS_H
