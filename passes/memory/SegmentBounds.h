//===- SegmentBounds.h - what no packing of a stage can be below ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_SEGMENTBOUNDS_H
#define TGPT_PASSES_MEMORY_SEGMENTBOUNDS_H

#include "passes/memory/SegmentPacking.h"

namespace tgpt {

/// The least of scratch that would do beside slots of what is kept, with the segments that run once a step or without.
int64_t leastScratchBytes(const StageToPack &stage, const SlotArrangement &slots, bool withOnce);

/// The least that slots, pages, scratch and what lies over them could be.
int64_t leastBytesWithStep(const StageToPack &stage, const SlotArrangement &arrangement);

/// The least bytes of what is not resident: what is live at once at some entry of the schedule.
int64_t leastLiveBytes(const StageToPack &stage);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_SEGMENTBOUNDS_H
