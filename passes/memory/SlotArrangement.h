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
// hold one together. BackwardPages.cpp and ChunkPages.cpp say what is put there. A segment that keeps
// nothing there may have one alone, for what it uses itself, where there is one that nobody holds.
//
// Slots, pages and leaves of several chunks are not all full at one time. Then they may lie anywhere
// in one lot, each where nobody holds its bytes meanwhile (Lot.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
#define TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H

#include "cost/PageSharing.h"
#include "passes/memory/PackingCache.h"
#include "passes/memory/StageLifetimes.h"
#include <optional>
#include <set>
#include <vector>

namespace tgpt {

/// What a chunk keeps, in offsets of its space: first a slot, then a page, then a leaf.
struct ChunkSpace {
  std::vector<int64_t> offsets;     ///< of each buffer that is kept
  std::vector<PlacedBuffer> placed; ///< the same, by rising offset
  int64_t slots = 1;
  int64_t slotBytes = 0;
  int64_t pageBytes = 0, leafBytes = 0; ///< what it needs of its page and leaf

  /// Moves all that lies from an offset on.
  void shift(int64_t from, int64_t bytes);

  /// Takes over where everything lies.
  void setOffsets(std::vector<int64_t> newOffsets, const std::vector<Lifetime> &kept);
};

/// From when to when a micro-batch has a page, or a leaf.
enum class Holding { Never, WholeMicroBatch, UntilBackward, FromBackward, Backward };

/// A chunk, and a kind of its segments.
using SegmentsOfChunk = std::pair<int64_t, planir::SegmentKind>;

/// Pages, or leaves, of a stage.
struct PagePool {
  std::map<int64_t, Holding> holdings; ///< by chunk
  std::set<SegmentsOfChunk> alone;     ///< those that have one, each run of them alone, and hold none
  int64_t bytes = 0;                   ///< of each
  int64_t count = 0;
  std::vector<int64_t> ofRun; ///< of each run of the schedule; from 1, 0: none

  /// Whether segments of a chunk and kind hold one for each other.
  bool holds(int64_t chunk, planir::SegmentKind kind) const;
  /// Whether they have one.
  bool has(int64_t chunk, planir::SegmentKind kind) const {
    return holds(chunk, kind) || alone.contains({chunk, kind});
  }
};

/// Slots, pages and leaves that may share bytes at different times. Those of a chunk are as large as it needs them.
struct Lot {
  struct Places {
    std::vector<int64_t> begins; ///< of each place, rising
    std::vector<int64_t> ofRun;  ///< of each run of the schedule; from 1, 0: none
  };
  struct OfChunk {
    Places slots, pages, leaves;
  };
  std::map<int64_t, OfChunk> chunks;
  /// Slots, pages and leaves of each chunk that are held at one time, at the times when no other has as many of all.
  std::vector<std::vector<int64_t>> moments;
  int64_t bytes = 0; ///< the least there can be, until they have places
};

struct SlotArrangement {
  std::map<int64_t, ChunkSpace> chunks;
  PagePool pages, leaves;
  std::optional<Lot> lot;

  /// Deals pages and leaves out along the schedule of a stage.
  void deal(planir::StageOp stage);
  /// The same, with one alone for each segment that uses bytes and for which there always is a free one.
  void dealAlone(planir::StageOp stage, const StageLifetimes &lifetimes);
  /// Lets all lie anywhere in a lot; `alike` is that of arrangements that are dealt out alike, or empty.
  void joinLot(planir::StageOp stage, Lot &alike);
  /// Sets the bytes of the lot to what is held at one time.
  void measureLot();
  /// Finds places in the lot, in turn and, where there are at most so many, also as buffers are packed, which takes a
  /// time with the square of them. `slackBytes` more than are held at one time are as good as none.
  void findPlaces(planir::StageOp stage, int64_t grainBytes, int64_t slackBytes, size_t mostSearched,
                  PackingCache &cache);

  /// Where in the space of a chunk its page, its leaf and what lies behind them begin.
  int64_t pageFrom(const ChunkSpace &chunk) const { return chunk.slotBytes; }
  int64_t leafFrom(const ChunkSpace &chunk) const { return chunk.slotBytes + pageBytesOf(chunk); }
  int64_t endOf(const ChunkSpace &chunk) const { return leafFrom(chunk) + leafBytesOf(chunk); }
  /// Of a page and of a leaf that a chunk has: as large as those of the others, but in a lot.
  int64_t pageBytesOf(const ChunkSpace &chunk) const { return lot ? chunk.pageBytes : pages.bytes; }
  int64_t leafBytesOf(const ChunkSpace &chunk) const { return lot ? chunk.leafBytes : leaves.bytes; }

  /// Larger or smaller slots, or pages: what lies behind them moves.
  void resize(int64_t chunk, int64_t slotBytes);
  void resizePages(int64_t pageBytes);

  /// What a segment's buffers are placed in: of slot, page and leaf what it has, with what is kept there.
  Space spaceOf(const SegmentBuffers &segment) const;
  /// Bytes of all slots, pages and leaves.
  int64_t bytes() const;
};

/// Who holds a page of a pool in each run of the schedule: a chunk and micro-batch, or the run alone. Of one chunk, or
/// of all.
std::vector<std::optional<cost::PageHolder>> holdersOf(const PagePool &pool, planir::StageOp stage,
                                                       std::optional<int64_t> ofChunk = std::nullopt);

/// Who holds a slot of a chunk.
std::vector<std::optional<cost::PageHolder>> holdersOfSlots(int64_t chunk, planir::StageOp stage);

/// Slots alone, each as large as what is kept. It lies in the order in which it is made: the
/// backward, which needs the last first, then frees the slot from its end.
SlotArrangement arrangeSlots(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes);

/// The same, but in the order in which it is freed, the first on top: so what is free of a slot is in one piece.
SlotArrangement stackSlots(const StageLifetimes &lifetimes, const SlotArrangement &slots, int64_t alignment,
                           int64_t grainBytes);

/// Arrangements whose segments have pages and leaves alike, by family.
using Families = std::vector<std::vector<SlotArrangement>>;

/// With pages and leaves, in each way that may take less: where the stage has a schedule, and several chunks or weight
/// gradients that wait.
Families arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes, const SlotArrangement &slots,
                      int64_t alignment, int64_t grainBytes, PackingCache &cache);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_SLOTARRANGEMENT_H
