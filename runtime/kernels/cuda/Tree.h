//===- Tree.h - sums of parts in an order no grid changes -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree of api/SumTree.h, as a device walks it: neighbours at distance 1, 2, 4, ...
// are added, which gives the same pairs.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_TREE_H
#define TGPT_RUNTIME_KERNELS_CUDA_TREE_H

#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cuda/Arithmetic.h"
#include "runtime/kernels/cuda/Launch.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// The sum of addend(i), i < n, each computed when its turn comes.
template <typename A, typename Addend> __device__ A sumScalars(int64_t n, const Addend &addend) {
  if (n == 1)
    return addend(0);
  A levels[mostSumTreeLevels];
  int height = 0;
  for (int64_t i = 0; i < n; ++i) {
    levels[height++] = addend(i);
    for (int64_t carry = i; carry & 1; carry >>= 1, --height)
      levels[height - 2] += levels[height - 1];
  }
  for (; height > 1; --height)
    levels[height - 2] += levels[height - 1];
  return levels[0];
}

/// Partial sums of columns: groups x parts x stride elements, of which `width` from
/// `offset` on are summed over the parts, or over `count` of them from `first` on.
template <typename A> struct Parts {
  A *sums;
  int64_t groups, parts, stride, first = 0, count = parts;
};

inline constexpr int partThreads = 128;

/// to[group][column] = or += the tree over the group's parts; a thread has a column.
/// The partial sums are used up.
template <typename A>
__global__ void __launch_bounds__(partThreads)
    addParts(Parts<A> from, int64_t offset, int64_t width, A *to, bool accumulate) {
  int64_t index = int64_t(blockIdx.x) * partThreads + threadIdx.x;
  if (index >= from.groups * width)
    return;
  A *column = from.sums + (index / width * from.parts + from.first) * from.stride + offset + index % width;
  for (int64_t distance = 1; distance < from.count; distance *= 2)
    for (int64_t part = 0; part + distance < from.count; part += 2 * distance)
      column[part * from.stride] += column[(part + distance) * from.stride];
  to[index] = accumulate ? to[index] + column[0] : column[0];
}

template <typename A>
void launchAddParts(Launches &launches, const Parts<A> &from, int64_t offset, int64_t width, A *to, bool accumulate) {
  LaunchShape shape(unsigned(ceilDiv(from.groups * width, partThreads)), partThreads);
  launches.then(shape, addParts<A>, from, offset, width, to, accumulate);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_TREE_H
