//===- StageLifetimes.h - what of a stage has to be placed, and when it is live ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions are counted along a micro-batch: forward, backward and weight_gradient of a
// chunk are neighbours, so that a saved activation lives from one into the next.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_STAGELIFETIMES_H
#define TGPT_PASSES_MEMORY_STAGELIFETIMES_H

#include "dialects/plan/Plan.h"
#include "passes/memory/PackBuffers.h"
#include <map>
#include <vector>

namespace tgpt {

/// Buffers packed together: those of a region, or of one segment.
struct BufferSet {
  std::vector<planir::BufferOp> buffers;
  std::vector<Lifetime> lifetimes;

  void add(planir::BufferOp buffer, int64_t first, int64_t last) {
    buffers.push_back(buffer);
    lifetimes.push_back({first, last, buffer.getBuffer().getType().getBytes()});
  }
};

/// What a model chunk keeps of each micro-batch in flight.
struct KeptChunk {
  BufferSet kept;
  int64_t slots = 1;
};

/// The buffers of one segment, and the chunk whose slot they may lie in.
struct SegmentBuffers {
  BufferSet set;
  int64_t chunk = 0;
  planir::SegmentKind kind = planir::SegmentKind::Begin;
  llvm::StringRef name;
  int64_t first = 0, last = -1; ///< its instructions

  bool runsOnce() const { return kind == planir::SegmentKind::Begin || kind == planir::SegmentKind::Update; }
};

/// All buffers of a stage but parts of others.
struct StageLifetimes {
  explicit StageLifetimes(planir::StageOp stage);

  std::map<planir::MemoryKind, BufferSet> resident; ///< always live
  std::map<int64_t, KeptChunk> chunks;              ///< those with a region of activations
  std::vector<SegmentBuffers> segments;             ///< what is dead at the end of its segment
  std::vector<unsigned> segmentOf;                  ///< of each position

  planir::SegmentKind kindAt(int64_t position) const { return segments[segmentOf[position]].kind; }

private:
  void orderInstructions(planir::StageOp stage);
  void addByUses(planir::StageOp stage, planir::BufferOp buffer);

  llvm::DenseMap<mlir::Operation *, int64_t> positions;
};

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_STAGELIFETIMES_H
