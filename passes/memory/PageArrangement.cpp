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
    std::vector<int64_t> offsets = chunk.offsets;
    for (size_t i = 0; i < offsets.size(); ++i)
      offsets[i] += chunk.isInPage[i]   ? arrangement.pageFrom(space)
                    : chunk.isInLeaf[i] ? arrangement.leafFrom(space)
                                        : 0;
    space.setOffsets(std::move(offsets), lifetimes.chunks.at(index).kept.lifetimes);
  }
}

std::vector<SlotArrangement> tgpt::arrangePages(planir::StageOp stage, const StageLifetimes &lifetimes,
                                                const SlotArrangement &slots, int64_t alignment, int64_t grainBytes,
                                                PackingCache &cache) {
  std::vector<SlotArrangement> found;
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
