//===- StageLifetimes.cpp - what of a stage has to be placed, and when it is live ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/StageLifetimes.h"
#include "dialects/dist/SegmentOrder.h"
#include <limits>

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;

StageLifetimes::StageLifetimes(planir::StageOp stage) {
  orderInstructions(stage);
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    if (region.getKind() == MemoryKind::Activations)
      chunks[static_cast<int64_t>(region.getChunk())].slots = region.getSlots();
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>()) {
    if (buffer.getWhole())
      continue;
    if (buffer.getRegion() == MemoryKind::Scratch || buffer.getRegion() == MemoryKind::Activations)
      addByUses(stage, buffer);
    else
      resident[buffer.getRegion()].add(buffer, 0, 0);
  }
}

void StageLifetimes::orderInstructions(planir::StageOp stage) {
  SmallVector<planir::SegmentOp> ordered(stage.getBody().getOps<planir::SegmentOp>());
  llvm::stable_sort(ordered, [](planir::SegmentOp a, planir::SegmentOp b) {
    return std::pair(a.getChunk(), placeInMicroBatch(a.getKind())) <
           std::pair(b.getChunk(), placeInMicroBatch(b.getKind()));
  });
  for (planir::SegmentOp segment : ordered) {
    auto first = static_cast<int64_t>(segmentOf.size());
    for (Operation &op : segment.getBody().getOps()) {
      positions[&op] = static_cast<int64_t>(segmentOf.size());
      segmentOf.push_back(static_cast<unsigned>(segments.size()));
    }
    SegmentBuffers &buffers = segments.emplace_back();
    buffers.chunk = static_cast<int64_t>(segment.getChunk());
    buffers.kind = segment.getKind();
    buffers.name = segment.getName();
    buffers.first = first;
    buffers.last = static_cast<int64_t>(segmentOf.size()) - 1;
  }
  if (segments.empty())
    segments.emplace_back();
  if (segmentOf.empty())
    segmentOf.push_back(0); // of buffers that nothing touches
}

/// Adds a buffer with the lifetime its instructions give it. What one segment alone uses
/// belongs to it, wherever it lay before.
void StageLifetimes::addByUses(planir::StageOp stage, planir::BufferOp buffer) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
  SmallVector<Operation *> users(buffer.getBuffer().getUsers());
  for (Operation *user : buffer.getBuffer().getUsers())
    if (auto part = dyn_cast<planir::BufferOp>(user))
      llvm::append_range(users, part.getBuffer().getUsers());
  for (Operation *user : users)
    if (auto found = positions.find(user); found != positions.end()) {
      first = std::min(first, found->second);
      last = std::max(last, found->second);
    }
  if (last < 0) // named but never touched
    first = last = 0;
  bool isKept = buffer.getRegion() == MemoryKind::Activations &&
                (segmentOf[first] != segmentOf[last] || !stage.getRegionOf(MemoryKind::Scratch));
  BufferSet &set = isKept ? chunks[static_cast<int64_t>(buffer.getChunk())].kept : segments[segmentOf[last]].set;
  set.add(buffer, first, last);
}
