//===- SlotArrangement.h - what a micro-batch keeps: slots, pages, leaves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot is there for as many micro-batches as are ever in flight, and is as large as the
// most that one of them keeps. Where these do not come together, slots waste: not all
// chunks of a stage have their slots full at once, and while weight gradients wait only one
// micro-batch at a time is in its backward, in which it keeps most.
//
// Pages and leaves are what micro-batches take in turn, beside their slot, for a part of the
// time. All chunks of a stage share them: there are as many as micro-batches of all chunks ever
// hold one together. BackwardPages.cpp and ChunkPages.cpp say what is put there.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
#define TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H

#include "passes/memory/PackingCache.h"
#include "passes/memory/StageLifetimes.h"
#include <vector>

namespace tgpt {

/// What a chunk keeps, in offsets of its space: first a slot, then a page, then a leaf.
struct ChunkSpace {
  std::vector<int64_t> offsets;     ///< of each buffer that is kept
  std::vector<PlacedBuffer> placed; ///< the same, by rising offset
  int64_t slots = 1;
  int64_t slotBytes = 0;

  /// Takes over where everything lies.
  void setOffsets(std::vector<int64_t> newOffsets, const std::vector<Lifetime> &kept);
};

/// From when to when a micro-batch has a page, or a leaf.
enum class Holding { Never, WholeMicroBatch, UntilBackward, FromBackward, Backward };

/// Pages, or leaves, of a stage.
struct PagePool {
  std::map<int64_t, Holding> holdings; ///< by chunk
  int64_t bytes = 0;                   ///< of each
  int64_t count = 0;
  std::vector<int64_t> ofRun; ///< of each run of the schedule; from 1, 0: none

  /// Whether segments of a chunk and kind have one.
  bool has(int64_t chunk, planir::SegmentKind kind) const;
  /// Deals them out along the schedule of a stage.
  void deal(planir::StageOp stage);
};

struct SlotArrangement {
  std::map<int64_t, ChunkSpace> chunks;
  PagePool pages, leaves;

  /// Where in the space of a chunk its page, its leaf and what lies behind them begin.
  int64_t pageFrom(const ChunkSpace &chunk) const { return chunk.slotBytes; }
  int64_t leafFrom(const ChunkSpace &chunk) const { return chunk.slotBytes + pages.bytes; }
  int64_t endOf(const ChunkSpace &chunk) const { return leafFrom(chunk) + leaves.bytes; }

  /// What a segment's buffers are placed in: of slot, page and leaf what it has, with what is kept there.
  Space spaceOf(const SegmentBuffers &segment) const;
  /// Bytes of all slots, pages and leaves.
  int64_t bytes() const;
};

/// Slots alone, each as large as what is kept. It lies in the order in which it is made: the
/// backward, which needs the last first, then frees the slot from its end.
SlotArrangement arrangeSlots(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes);

/// The same, but in the order in which it is freed, the first on top: so what is free of a slot is in one piece.
SlotArrangement stackSlots(const StageLifetimes &lifetimes, const SlotArrangement &slots, int64_t alignment,
                           int64_t grainBytes);

/// With pages and leaves, in each way that may take less: where the stage has a schedule, and several chunks or weight
/// gradients that wait.
std::vector<SlotArrangement> arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes,
                                          const SlotArrangement &slots, int64_t alignment, int64_t grainBytes,
                                          PackingCache &cache);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
