//===- SumTree.h - the order of additions that no grid changes --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// n addends are added as a binary counter counts: two neighbours as soon as both are
// there, then two neighbouring pairs, and at the end what is left from the right.
//
//   n = 8:  ((a0+a1)+(a2+a3)) + ((a4+a5)+(a6+a7))
//   n = 6:  ((a0+a1)+(a2+a3)) + (a4+a5)
//
// Any 2^k neighbours that begin at a multiple of 2^k are added to one another before
// anything else comes to them. So whoever holds such a range (a rank its chunks of a
// dim, a micro-batch its samples) may add it up alone, and the tree over the ranges'
// sums is the tree over all addends: the same bits. The partial sums at hand are a
// stack, no higher than mostSumTreeLevels.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_SUMTREE_H
#define TGPT_RUNTIME_KERNELS_API_SUMTREE_H

#include <bit>
#include <cstdint>

namespace tgpt::runtime {

/// Chunks that a kernel's sum may have.
inline constexpr int64_t mostSumTreeAddends = 65536;
/// Partial sums that are at hand at once, for that many addends.
inline constexpr int64_t mostSumTreeLevels = 17;

/// Partial sums that are at hand at once.
inline int64_t sumTreeLevels(int64_t addends) {
  return std::bit_width(static_cast<uint64_t>(addends));
}

/// put(i, level) writes addend i to a level of the stack; merge(level) adds level + 1
/// to level. The sum ends in level 0. There is an addend at least.
template <typename Put, typename Merge> void sumInTree(int64_t addends, const Put &put, const Merge &merge) {
  int64_t height = 0;
  for (int64_t i = 0; i < addends; ++i) {
    put(i, height++);
    for (int64_t carry = i; carry & 1; carry >>= 1)
      merge(--height - 1);
  }
  while (height > 1)
    merge(--height - 1);
}

/// The sum of addend(i), each computed when its turn comes.
template <typename T, typename Addend> T sumScalarsInTree(int64_t addends, const Addend &addend) {
  T levels[mostSumTreeLevels];
  sumInTree(
      addends, [&](int64_t i, int64_t level) { levels[level] = addend(i); },
      [&](int64_t level) { levels[level] += levels[level + 1]; });
  return levels[0];
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_SUMTREE_H
