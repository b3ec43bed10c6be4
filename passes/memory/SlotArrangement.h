//===- SlotArrangement.h - what a micro-batch keeps, in slots and pages ---*- C++ -*-===//
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
// Pages are what micro-batches take in turn, beside their slot. With several chunks
// a page holds what each of them keeps, up to the size of one of them, and there are as many as
// micro-batches of all chunks are ever in flight together. With weight gradients that wait
// it holds either what a backward keeps for them and finds no room for in the slot, and a
// micro-batch has it from its backward on; or what its backward frees and finds no room for
// where the slot will be filled by it, and a micro-batch has it until then. Early stages have
// many micro-batches before their backward, late ones behind it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
#define TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H

#include "passes/memory/StageLifetimes.h"
#include <vector>

namespace tgpt {

/// What a chunk keeps, in offsets of its space: first a slot, then a page.
struct ChunkSpace {
  std::vector<int64_t> offsets;     ///< of each buffer that is kept
  std::vector<PlacedBuffer> placed; ///< the same, by rising offset
  int64_t slots = 1;
  int64_t slotBytes = 0;
};

enum class Paging { None, WholeMicroBatch, FromBackward, UntilBackward };

struct SlotArrangement {
  std::map<int64_t, ChunkSpace> chunks;
  Paging paging = Paging::None;
  int64_t pageBytes = 0, pages = 0;
  std::vector<int64_t> pageOfRun; ///< of each run of the schedule; from 1, 0: none

  /// Whether segments of this kind have a page.
  bool hasPage(planir::SegmentKind kind) const;
  /// Ends of slot and page, of those that the segment has.
  std::vector<int64_t> splitsOf(const SegmentBuffers &segment) const;
  /// Bytes of all slots and pages.
  int64_t bytes() const;
};

/// Slots alone, each as large as what is kept. It lies in the order in which it is made: the
/// backward, which needs the last first, then frees the slot from its end.
SlotArrangement arrangeSlots(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes);

/// With pages, in each way that may take less: where the stage has a schedule, and several chunks or weight gradients
/// that wait.
std::vector<SlotArrangement> arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes,
                                          const SlotArrangement &slots, int64_t alignment, int64_t grainBytes);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
