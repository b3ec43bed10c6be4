//===- CachingAllocator.h - what PyTorch's allocator makes of a program's memory ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tgpt plans its memory; published runs are mostly PyTorch programs, whose allocator keeps
// what is freed, for the same stream and no larger request. So they reserve more than is
// ever in use at once, and, where the device has no more, free and map blocks again and
// again. Both follow from the program's tensors (docs/time-model.md).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_CACHINGALLOCATOR_H
#define TGPT_VALIDATION_CACHINGALLOCATOR_H

#include "cost/RankMemory.h"

namespace tgpt::validation {

/// Bytes that FSDP2 has reserved after its first steps (torch.cuda.max_memory_reserved), where all layers' activations
/// and the loss are the fullest moment. `states.logit` counts the blocks of a logit.
double reservedBytes(const cost::ModelShape &shape, const cost::Execution &run, const cost::StateBytes &states);

/// An allocator at the edge of its device.
struct AllocatorEdge {
  double capacityBytes = 0;       ///< of the device, less what lies outside the allocator
  double poolLayers = 0;          ///< gathered layers that the pools of the streams hold apart from each other
  double remapBytesPerSecond = 0; ///< freeing blocks and mapping others in their place
};

/// Seconds of a step that FSDP1 loses where the pools do not fit beside what the rank holds: blocks of a layer's size
/// are freed and mapped again for each gathered layer, forward and backward.
double remapSeconds(const cost::ModelShape &shape, const cost::Execution &run, const cost::StateBytes &states,
                    const AllocatorEdge &edge);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_CACHINGALLOCATOR_H
