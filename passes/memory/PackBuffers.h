//===- PackBuffers.h - offsets for buffers with lifetimes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic storage allocation: buffers that are never live at once may share bytes.
// The general problem is NP-hard; buffers are placed one by one, each in a gap
// between those already placed that are live with it. Several orders and two gap
// rules are tried and the smallest result is kept; a result as small as the peak of
// live bytes cannot be improved and ends the search. Some of the room may be taken at
// some times by buffers that have their place already. No IR in here.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_PACKBUFFERS_H
#define TGPT_PASSES_MEMORY_PACKBUFFERS_H

#include <cstdint>
#include <vector>

namespace tgpt {

/// When a buffer holds something: from its first to its last position, both included.
struct Lifetime {
  int64_t first;
  int64_t last;
  int64_t bytes;

  bool operator==(const Lifetime &) const = default;
};

struct Packing {
  std::vector<int64_t> offsets; ///< one per buffer, multiples of the alignment
  int64_t endBytes = 0;         ///< end of the last buffer
  int64_t peakLiveBytes = 0;    ///< greatest sum of bytes live at one position
  bool isTight = false;         ///< no packing ends before
};

/// A buffer that has its place.
struct PlacedBuffer {
  Lifetime lifetime;
  int64_t offset;

  bool operator==(const PlacedBuffer &) const = default;
};

/// What buffers are placed in: behind the last split there is room without end, before it lie
/// `taken`. None lies across a split, so what is between them may be in different places.
struct Space {
  std::vector<PlacedBuffer> taken; ///< by rising offset, ending at or before the last split
  std::vector<int64_t> splits;     ///< rising multiples of the alignment
  int64_t goalBytes = 0;           ///< an end up to here is as good as any

  /// Where the room without end begins.
  int64_t endlessFrom() const { return splits.empty() ? 0 : splits.back(); }
};

/// Places all buffers. `alignment` is a power of two. Deterministic. The end is at least
/// the last split.
Packing packBuffers(const std::vector<Lifetime> &buffers, int64_t alignment, const Space &space = {});

/// Greatest sum of bytes live at one position, each size rounded up to `alignment`.
int64_t peakLiveBytes(const std::vector<Lifetime> &buffers, int64_t alignment = 1);

inline int64_t roundUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_PACKBUFFERS_H
