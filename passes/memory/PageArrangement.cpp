//===- PageArrangement.cpp - all ways to use pages and leaves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PageParts.h"

using namespace mlir;
using namespace tgpt;
using planir::SegmentKind;

KeptIndices tgpt::takeUpTo(int64_t bytes, const std::vector<Lifetime> &kept, int64_t alignment, KeptIndices &from) {
  KeptIndices taken, left;
  for (size_t i : from) {
    int64_t rounded = roundUp(kept[i].bytes, alignment);
    bool fits = rounded <= bytes;
    (fits ? taken : left).push_back(i);
    bytes -= fits ? rounded : 0;
  }
  from = left;
  return taken;
}

ChunkParts tgpt::partsInSlot(const ChunkSpace &slot) {
  ChunkParts parts(slot.offsets.size());
  parts.offsets = slot.offsets;
  parts.slotBytes = slot.slotBytes;
  return parts;
}

std::vector<std::set<int64_t>> tgpt::chunksWorthPages(const SlotArrangement &slots) {
  int64_t largest = 0;
  for (const auto &[index, space] : slots.chunks)
    largest = std::max(largest, space.slotBytes);
  std::set<int64_t> all, large;
  for (const auto &[index, space] : slots.chunks) {
    all.insert(index);
    if (2 * space.slotBytes >= largest)
      large.insert(index);
  }
  if (large.size() == all.size())
    return {all};
  return {all, large};
}

void tgpt::setParts(const StageLifetimes &lifetimes, const std::map<int64_t, ChunkParts> &parts,
                    SlotArrangement &arrangement) {
  arrangement.pages.bytes = arrangement.leaves.bytes = 0;
  for (const auto &[index, chunk] : parts) {
    arrangement.pages.bytes = std::max(arrangement.pages.bytes, chunk.pageBytes);
    arrangement.leaves.bytes = std::max(arrangement.leaves.bytes, chunk.leafBytes);
  }
  for (const auto &[index, chunk] : parts) {
    ChunkSpace &space = arrangement.chunks.at(index);
    space.slotBytes = chunk.slotBytes;
    space.pageBytes = chunk.pageBytes;
    space.leafBytes = chunk.leafBytes;
    std::vector<int64_t> offsets = chunk.offsets;
    for (size_t i = 0; i < offsets.size(); ++i)
      offsets[i] += chunk.isInPage[i]   ? arrangement.pageFrom(space)
                    : chunk.isInLeaf[i] ? arrangement.leafFrom(space)
                                        : 0;
    space.setOffsets(std::move(offsets), lifetimes.chunks.at(index).kept.lifetimes);
  }
}

void tgpt::addInLot(planir::StageOp stage, const SlotArrangement &arrangement, int64_t bytes, Lot &alike,
                    std::vector<SlotArrangement> &found) {
  if (arrangement.chunks.size() == 1)
    return;
  SlotArrangement inLot = arrangement;
  inLot.joinLot(stage, alike);
  if (inLot.bytes() < bytes)
    found.push_back(std::move(inLot));
}

void tgpt::addFamily(const PageContext &context, std::vector<SlotArrangement> family, Families &found) {
  if (family.empty())
    return;
  SlotArrangement dealt = family.front();
  dealt.dealAlone(context.stage, context.lifetimes);
  std::vector<SlotArrangement> alone;
  if (!dealt.pages.alone.empty() || !dealt.leaves.alone.empty())
    for (SlotArrangement arrangement : family) {
      for (PagePool SlotArrangement::*pool : {&SlotArrangement::pages, &SlotArrangement::leaves}) {
        (arrangement.*pool).alone = (dealt.*pool).alone;
        (arrangement.*pool).ofRun = (dealt.*pool).ofRun;
      }
      alone.push_back(std::move(arrangement));
    }
  std::vector<SlotArrangement> joined, joinedAlone;
  Lot lot, lotAlone;
  for (const SlotArrangement &arrangement : family)
    addInLot(context.stage, arrangement, arrangement.bytes(), lot, joined);
  for (const SlotArrangement &arrangement : alone)
    addInLot(context.stage, arrangement, arrangement.bytes(), lotAlone, joinedAlone);
  for (std::vector<SlotArrangement> *one : {&family, &alone, &joined, &joinedAlone})
    if (!one->empty())
      found.push_back(std::move(*one));
}

Families tgpt::arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes, const SlotArrangement &slots,
                            int64_t alignment, int64_t grainBytes, PackingCache &cache) {
  Families found;
  if (!stage.getSchedule() || slots.chunks.empty())
    return found;
  PageContext context = {stage, lifetimes, slots, alignment, grainBytes, cache};
  if (slots.chunks.size() > 1)
    arrangeAmongChunks(context, found);
  if (llvm::any_of(lifetimes.segments,
                   [](const SegmentBuffers &segment) { return segment.kind == SegmentKind::WeightGradient; }))
    arrangeAroundBackward(context, found);
  return found;
}
