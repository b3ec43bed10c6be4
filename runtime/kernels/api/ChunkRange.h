//===- ChunkRange.h - which chunks a call adds up ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call with attribute `chunks` adds up all of them, unless
//   parts, part        it is one of so many calls that share them equally (samples), or
//   nodes, node,       its chunks begin at `first_chunk` of a sum of several ranks, and it
//   first_chunk        adds up number `node` of the nodes that they are (cost/SumNodes.h),
//                      or the last where there are fewer: then nobody reads the sum.
// Results that are no sums are computed whole all the same.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_CHUNKRANGE_H
#define TGPT_RUNTIME_KERNELS_API_CHUNKRANGE_H

#include "cost/SumNodes.h"
#include "runtime/kernels/api/Kernel.h"

#include <algorithm>

namespace tgpt::runtime {

/// `count` chunks from `first`, of `all`.
struct ChunkRange {
  int64_t first = 0, count = 1, all = 1;

  bool isAll() const { return count == all; }
  /// Where they begin and end in a dim of `size`.
  int64_t beginIn(int64_t size) const { return first * (size / all); }
  int64_t endIn(int64_t size) const { return (first + count) * (size / all); }
  bool holds(int64_t i, int64_t size) const { return i >= beginIn(size) && i < endIn(size); }

  static ChunkRange of(const Attributes &attributes) {
    int64_t chunks = std::max<int64_t>(attributes.integer("chunks"), 1), parts = attributes.integer("parts");
    if (parts > 1)
      return {attributes.integer("part") * (chunks / parts), chunks / parts, chunks};
    if (attributes.integer("nodes") == 0)
      return {0, chunks, chunks};
    int64_t begin = attributes.integer("first_chunk");
    SumNode node = sumNodeAt(begin, chunks, attributes.integer("node"));
    return {node.first - begin, node.count, chunks};
  }
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_CHUNKRANGE_H
