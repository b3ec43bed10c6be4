//===- BufferExtent.h - where the bytes of a buffer lie ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_BUFFEREXTENT_H
#define TGPT_RUNTIME_PLAN_BUFFEREXTENT_H

#include "cost/KernelWorkspace.h"
#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Grain of regions: their offsets and slot sizes are multiples of it.
constexpr int64_t regionGrainBytes = 64;

/// Where the workspace of a kernel begins: a multiple of it in the arena.
constexpr int64_t workspaceGrainBytes = cost::workspaceGrainBytes;

/// Bytes of one element; 0 for an unknown dtype.
constexpr int64_t elementBytes(plan::DType dtype) {
  switch (dtype) {
  case plan::F64: return 8;
  case plan::F32: return 4;
  case plan::BF16:
  case plan::F16: return 2;
  case plan::I32: return 4;
  default: return 0;
  }
}

/// Bytes of a tensor; nothing when a dimension is below 1, the dtype is unknown or the product overflows.
template <typename Shape> std::optional<int64_t> tensorBytes(plan::DType dtype, const Shape &shape) {
  int64_t bytes = elementBytes(dtype);
  for (int64_t size : shape)
    if (size < 1 || __builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

/// Whether micro-batches take the slots of such a region in turn, those of all chunks of a stage the same ones.
constexpr bool isPaged(plan::Region::Kind kind) {
  return kind == plan::Region::PAGES || kind == plan::Region::LEAVES;
}

/// Whether what lies in a region belongs to a micro-batch, from one segment to another.
constexpr bool isOfMicroBatch(plan::Region::Kind kind) {
  return kind == plan::Region::ACTIVATIONS || isPaged(kind);
}

/// Which of the slots, pages and leaves a micro-batch has.
struct SlotAndPages {
  int64_t slot = 0;
  int64_t page = 0; ///< counted from 1; 0: none
  int64_t leaf = 0; ///< likewise

  auto operator<=>(const SlotAndPages &) const = default;
};

/// Those of an entry of the schedule.
inline SlotAndPages heldBy(const plan::ScheduleEntry &entry) {
  return {entry.slot(), entry.page(), entry.leaf()};
}

/// Which slot of a region that is; of pages and leaves -1 where there is none.
constexpr int64_t slotOf(plan::Region::Kind kind, const SlotAndPages &held) {
  switch (kind) {
  case plan::Region::ACTIVATIONS: return held.slot;
  case plan::Region::PAGES: return held.page - 1;
  case plan::Region::LEAVES: return held.leaf - 1;
  default: return 0;
  }
}

/// Where a slot of a region begins in it.
inline int64_t placeOf(const plan::Region &region, int64_t slot) {
  return region.places_size() > 0 ? region.places(static_cast<int>(slot)) : slot * region.slot_bytes();
}

/// Bytes from the begin of a region to the end of its last slot.
inline int64_t regionBytes(const plan::Region &region) {
  int64_t last = region.places_size() > 0 ? *std::max_element(region.places().begin(), region.places().end())
                                          : (region.slots() - 1) * region.slot_bytes();
  return last + region.slot_bytes();
}

/// Whether a region holds nothing at the begin and at the end of a segment that runs once a step.
constexpr bool isEmptyBetweenSteps(plan::Region::Kind kind) {
  return isOfMicroBatch(kind) || kind == plan::Region::SCRATCH || kind == plan::Region::STEP;
}

/// Half-open byte range within a slot of a region.
struct Extent {
  uint32_t region;
  int64_t begin;
  int64_t end;
  bool overlaps(const Extent &other) const { return region == other.region && begin < other.end && other.begin < end; }
  bool contains(const Extent &inner) const {
    return region == inner.region && begin <= inner.begin && inner.end <= end;
  }
  bool operator==(const Extent &) const = default;
};

/// The range of a buffer that has been checked.
inline Extent extentOf(const plan::Buffer &buffer) {
  return {buffer.region(), buffer.offset_bytes(),
          buffer.offset_bytes() + tensorBytes(buffer.dtype(), buffer.shape()).value_or(0)};
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_BUFFEREXTENT_H
