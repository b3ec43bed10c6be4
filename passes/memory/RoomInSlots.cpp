//===- RoomInSlots.cpp - what is kept makes room for what lies in scratch ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is kept has its place before segments are packed, so what is still live late in a segment may lie in the
// middle of a slot that is free but for it, and a large buffer finds no room on either side: the piece of a gradient
// that a weight gradient has reduced, beside the bucket it was reduced from. Placed together with such buffers, what
// is kept lies aside.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SegmentPacking.h"
#include <algorithm>

using namespace tgpt;

/// Buffers of a chunk that are tried: each takes a packing of all that is kept. Smaller ones than this share of slots,
/// pages, leaves and scratch are not worth one.
static constexpr size_t mostTried = 3;
static constexpr int64_t worthShare = 50;

/// What the segments of a chunk that need half of scratch or more have there, of buffers that are no larger than a
/// slot, the largest ones first.
static std::vector<Lifetime> inScratch(const StageToPack &stage, const SegmentPacking &packing, int64_t chunk) {
  std::vector<Lifetime> found;
  int64_t slotBytes = packing.arrangement.chunks.at(chunk).slotBytes;
  for (auto [segment, packed] : llvm::zip(stage.lifetimes.segments, packing.segments)) {
    if (segment.chunk != chunk || segment.runsOnce())
      continue;
    int64_t scratchFrom = packing.arrangement.spaceOf(segment).endlessFrom();
    if (2 * (packed.endBytes - scratchFrom) < packing.scratchBytes)
      continue;
    for (auto [lifetime, offset] : llvm::zip(segment.set.lifetimes, packed.offsets))
      if (offset >= scratchFrom && lifetime.bytes <= slotBytes && lifetime.bytes * worthShare >= packing.bytes())
        found.push_back(lifetime);
  }
  llvm::stable_sort(found, [](const Lifetime &a, const Lifetime &b) { return a.bytes > b.bytes; });
  found.resize(std::min(found.size(), mostTried));
  return found;
}

/// Places what lies in the slot of a chunk anew, with as many of some buffers as find room there. Such a packing is
/// seldom as tight, so the slot may grow: all of them by less than half of what leaves scratch. Whether any does.
static bool makeRoom(const StageToPack &stage, const std::vector<Lifetime> &others, int64_t chunk,
                     SlotArrangement &arrangement) {
  ChunkSpace &space = arrangement.chunks.at(chunk);
  const std::vector<Lifetime> &kept = stage.lifetimes.chunks.at(chunk).kept.lifetimes;
  std::vector<size_t> inSlot; // of what is kept
  std::vector<Lifetime> together;
  for (auto [i, lifetime] : llvm::enumerate(kept))
    if (space.offsets[i] < space.slotBytes) {
      inSlot.push_back(i);
      together.push_back(lifetime);
    }
  Space slot;
  slot.goalBytes = space.slotBytes;
  Packing best;
  for (const Lifetime &other : others) {
    together.push_back(other);
    int64_t mostBytes = space.slotBytes + other.bytes / (2 * space.slots);
    if (peakLiveBytes(together, stage.alignment) <= mostBytes)
      if (const Packing &packing = stage.cache.pack(together, stage.alignment, slot); packing.endBytes <= mostBytes) {
        best = packing;
        slot.goalBytes = std::max(slot.goalBytes, best.endBytes);
        continue;
      }
    together.pop_back();
  }
  if (best.offsets.empty())
    return false;
  if (int64_t bytes = roundUp(best.endBytes, stage.grainBytes); bytes > space.slotBytes)
    arrangement.resize(chunk, bytes);
  std::vector<int64_t> offsets = space.offsets;
  for (auto [place, i] : llvm::enumerate(inSlot))
    offsets[i] = best.offsets[place];
  space.setOffsets(std::move(offsets), kept);
  return true;
}

std::optional<SlotArrangement> tgpt::withRoomInSlots(const StageToPack &stage, const SegmentPacking &packing) {
  SlotArrangement arrangement = packing.arrangement;
  bool hasRoom = false;
  for (const auto &[index, space] : packing.arrangement.chunks)
    hasRoom |= makeRoom(stage, inScratch(stage, packing, index), index, arrangement);
  return hasRoom ? std::optional(arrangement) : std::nullopt;
}
