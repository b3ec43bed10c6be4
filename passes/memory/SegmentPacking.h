//===- SegmentPacking.h - where the buffers of all segments lie ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot is full only at the turn from forward to backward; before and behind it has room,
// which buffers of one segment take where they fit, and only what does not fit goes to the
// scratch region. In a segment that runs once a step all slots are free, so its buffers may lie
// in a region of their own over slots, pages, leaves and scratch.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_SEGMENTPACKING_H
#define TGPT_PASSES_MEMORY_SEGMENTPACKING_H

#include "passes/memory/PackingCache.h"
#include "passes/memory/SlotArrangement.h"

namespace tgpt {

/// A stage, and what is known of it before it is packed.
struct StageToPack {
  planir::StageOp op;
  const StageLifetimes &lifetimes;
  int64_t alignment, grainBytes;
  int64_t residentBytes; ///< beside slots, pages, leaves and scratch
  PackingCache &cache;   ///< has packings of other stages of the program
};

struct SegmentPacking {
  SlotArrangement arrangement;
  std::vector<Packing> segments; ///< offsets in slot, page, leaf and, behind them, scratch
  int64_t scratchBytes = 0;
  bool hasStep = false; ///< segments that run once a step have a region of their own
  int64_t stepBytes = 0;

  /// Of slots, pages, leaves and scratch, and of what lies over them.
  int64_t bytes() const { return std::max(arrangement.bytes() + scratchBytes, stepBytes); }
};

struct PackingResult {
  SegmentPacking packing;
  bool isTight = false; ///< no packing with slots of what is kept can be smaller
};

/// The smallest found. An arena that is 1/400 above what slots and resident bytes need at least is not improved any
/// more.
PackingResult packStage(const StageToPack &stage);

/// The same arrangement, but what is kept lies where buffers that this packing has in scratch find room in a slot too;
/// nothing where none does.
std::optional<SlotArrangement> withRoomInSlots(const StageToPack &stage, const SegmentPacking &packing);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_SEGMENTPACKING_H
