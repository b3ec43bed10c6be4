//===- Reduce.h - sums and maxima over a block ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A butterfly over each warp, then one over the warps' results: the order of additions
// depends on the block's size alone, and every thread gets the result.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_REDUCE_H
#define TGPT_RUNTIME_KERNELS_CUDA_REDUCE_H

#include "runtime/kernels/cuda/Arithmetic.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

struct Sum {
  template <typename A> __device__ A operator()(A a, A b) const { return a + b; }
};
/// Passes over a NaN where the other is none.
struct Maximum {
  template <typename A> __device__ A operator()(A a, A b) const { return b > a || a != a ? b : a; }
};

/// Over the 32 lanes of a warp, all of which call.
template <typename A, typename Combine> __device__ A reduceWarp(A value, Combine combine) {
  TGPT_UNROLL
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, shuffleXor(value, offset));
  return value;
}

/// Over a block of `Threads` threads in x, all of which call.
template <int Threads, typename A, typename Combine> __device__ A reduceBlock(A value, A neutral, Combine combine) {
  static_assert(Threads % 32 == 0 && Threads <= 1024);
  value = reduceWarp(value, combine);
  if constexpr (Threads > 32) {
    TGPT_SHARED(A, ofWarp, 32);
    int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    if (lane == 0)
      ofWarp[warp] = value;
    __syncthreads();
    value = reduceWarp(lane < Threads / 32 ? ofWarp[lane] : neutral, combine);
    __syncthreads(); // the array is free for the next reduction
  }
  return value;
}

template <int Threads, typename A> __device__ A sumOverBlock(A value) {
  return reduceBlock<Threads>(value, A(0), Sum());
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_REDUCE_H
