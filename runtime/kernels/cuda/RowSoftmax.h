//===- RowSoftmax.h - log sum exp of a row of logits ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block reads a row once: each thread keeps the largest element it has seen and the sum of
// exponentials relative to it, and the block takes these together.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ROWSOFTMAX_H
#define TGPT_RUNTIME_KERNELS_CUDA_ROWSOFTMAX_H

#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Launch.h"
#include "runtime/kernels/cuda/Reduce.h"

#include <limits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr int lossThreads = 256;

/// Of `width` columns held here those that are no padding: below `vocabulary`, counted over all ranks.
inline int64_t realColumns(const Attributes &attributes, int64_t width) {
  int64_t offset = attributes.integer("vocab_offset");
  return std::clamp<int64_t>(attributes.integer("vocabulary", offset + width) - offset, 0, width);
}

template <typename A> __device__ __forceinline__ A minusInfinity() {
  return A(-std::numeric_limits<A>::infinity());
}

/// What exponents are relative to: the maximum, where it is a number to subtract.
template <typename A> __device__ __forceinline__ A shiftOf(A most) {
  return most == minusInfinity<A>() ? A(0) : most;
}

/// What makes exponentials relative to `from` relative to `to`, which is no smaller. Those
/// relative to minus infinity are all 0, or NaN.
template <typename A> __device__ __forceinline__ A rescaled(A exponentials, A from, A to) {
  return from == minusInfinity<A>() ? exponentials : roundedProduct(exponentials, A(std::exp(from - to)));
}

/// Of some elements: the largest, the sum of their exponentials relative to it, and their sum.
/// A NaN is passed over by the largest, and makes NaN of the sums.
template <typename A> struct OnlineSums {
  template <int N> __device__ __forceinline__ void add(const A (&x)[N]) {
    A larger = most;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      larger = x[k] > larger ? x[k] : larger;
    if (larger > most) {
      exponentials = rescaled(exponentials, most, larger);
      most = larger;
    }
    A shift = shiftOf(most);
    TGPT_UNROLL
    for (int k = 0; k < N; ++k) {
      exponentials += std::exp(x[k] - shift);
      sum += x[k];
    }
  }
  A most = minusInfinity<A>(), exponentials = 0, sum = 0;
};

/// log sum exp of a row, minus infinity where all elements are or there are none; and their sum.
template <typename A> struct RowSums { A lse, sum; };

/// Of row[0, n), by a block, V elements at a time, the last ones one by one. All threads get
/// the same bits. The sum is 0 unless `hasSum`, which all threads say alike.
template <int V, typename T> __device__ RowSums<AccumulatorOf<T>> sumsOf(const T *row, int64_t n, bool hasSum) {
  using A = AccumulatorOf<T>;
  OnlineSums<A> own;
  for (int64_t j = int64_t(threadIdx.x) * V; j < n; j += lossThreads * V) {
    if (j + V <= n) {
      Pack<T, V> in = loadPack<V>(row + j);
      A x[V];
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        x[k] = load(in.at[k]);
      own.add(x);
    } else {
      for (int64_t i = j; i < n; ++i)
        own.add({A(load(row[i]))});
    }
  }
  A most = reduceBlock<lossThreads>(own.most, minusInfinity<A>(), Maximum());
  A exponentials = sumOverBlock<lossThreads>(rescaled(own.exponentials, own.most, most));
  A sum = hasSum ? sumOverBlock<lossThreads>(own.sum) : A(0);
  return {shiftOf(most) + A(std::log(exponentials)), sum};
}

/// Whether rows of `width` elements from `logits` on may be read in vectors.
template <typename T> bool rowsAreAligned(const T *logits, int64_t width) {
  return width % vectorOf<T> == 0 && areAligned(logits);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ROWSOFTMAX_H
