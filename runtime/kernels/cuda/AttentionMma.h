//===- AttentionMma.h - tiles of attention on tensor cores -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of four warps works on 64 rows, 16 a warp, against the rows of another tile. Rows
// lie in shared memory as they are stored, C elements and 16 bytes of padding, so that the
// 8 rows of an ldmatrix lie in different banks. What a block walks over has two buffers:
// while one is computed with, the next tile is on its way.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONMMA_H
#define TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONMMA_H

#include "runtime/kernels/cuda/AttentionOperands.h"
#include "runtime/kernels/cuda/Mma.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr int mmaThreads = 128, mmaRows = 64;

/// Rows of a tile that a block walks over: registers for its products are left.
template <int C> inline constexpr int walkedRows = C == 64 ? 64 : 32;

template <int C> inline constexpr int mmaStride = C + 8;
template <int C, int Rows> inline constexpr int mmaTile = Rows *mmaStride<C>;

inline constexpr float log2OfE = 1.44269504f, logOf2 = 0.693147181f;

__device__ __forceinline__ float exp2Of(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

/// Rows [first, first + Rows), `distance` elements apart from `from` on, zeros from row `end` on.
template <int C, int Rows, typename T>
__device__ __forceinline__ void copyTile(Shared<T> tile, const T *from, int64_t first, int64_t end, int64_t distance) {
  constexpr int pieces = C / 8;
  TGPT_UNROLL
  for (int i = 0; i < Rows * pieces / mmaThreads; ++i) {
    int index = int(threadIdx.x) + i * mmaThreads, row = index / pieces, e = index % pieces * 8;
    bool isInside = first + row < end;
    copyAsync(sharedAt<T>(tile, row * mmaStride<C> + e, 8), from + (isInside ? (first + row) * distance : 0) + e,
              isInside);
  }
}

/// to[n] += this warp's 16 rows of `rows` times rows [8 n, 8 n + 8) of `columns`.
template <int C, typename T, int N>
__device__ __forceinline__ void multiplyRows(Shared<T> rows, Shared<T> columns, FragmentC (&to)[N]) {
  int first = int(threadIdx.x) / 32 * 16;
  TGPT_UNROLL
  for (int e = 0; e < C; e += 16) {
    FragmentA a;
    loadA<T>(rows, mmaStride<C>, first, e, a);
    TGPT_UNROLL
    for (int n = 0; n < N; n += 2) {
      FragmentB b[2];
      loadB<T>(columns, mmaStride<C>, 8 * n, e, b);
      mma<T>(to[n], a, b[0]);
      mma<T>(to[n + 1], a, b[1]);
    }
  }
}

/// to[e] += the 16 x 16 N of `weights` times columns [8 e, 8 e + 8) of the 16 N rows of `rows`.
template <int C, typename T, int N>
__device__ __forceinline__ void addRows(const FragmentA (&weights)[N], Shared<T> rows, FragmentC (&to)[C / 8]) {
  TGPT_UNROLL
  for (int k = 0; k < N; ++k)
    TGPT_UNROLL
  for (int e = 0; e < C / 8; e += 2) {
    FragmentB b[2];
    loadBOfRows<T>(rows, mmaStride<C>, 16 * k, 8 * e, b);
    mma<T>(to[e], weights[k], b[0]);
    mma<T>(to[e + 1], weights[k], b[1]);
  }
}

/// Sums become the operand of the next product, rounded to T.
template <typename T, int N> __device__ __forceinline__ void round(const FragmentC (&from)[N], FragmentA (&to)[N / 2]) {
  TGPT_UNROLL
  for (int i = 0; i < 2 * N; ++i)
    to[i / 4].at[i % 4] = packPair<T>(from[i / 2].at[i % 2 * 2], from[i / 2].at[i % 2 * 2 + 1]);
}

/// to[0, C) = half `half` (rows g, or g + 8) of the sums, times `factor`.
template <int C, typename T>
__device__ __forceinline__ void storeRow(T *to, const FragmentC (&sums)[C / 8], int half, float factor) {
  int t = int(threadIdx.x) % 4;
  TGPT_UNROLL
  for (int e = 0; e < C / 8; ++e) {
    Pack<T, 2> pair;
    pair.at[0] = store<T>(sums[e].at[2 * half] * factor);
    pair.at[1] = store<T>(sums[e].at[2 * half + 1] * factor);
    storePack(to + 8 * e + 2 * t, pair);
  }
}

/// function(std::integral_constant<int, C>, std::bool_constant<whether there is dropout>).
template <typename Function> KernelStatus forMmaKernel(const AttentionShape &shape, bool drops, Function &&function) {
  using C64 = std::integral_constant<int, 64>;
  using C128 = std::integral_constant<int, 128>;
  if (shape.c == 64)
    return drops ? function(C64(), std::true_type()) : function(C64(), std::false_type());
  return drops ? function(C128(), std::true_type()) : function(C128(), std::false_type());
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONMMA_H
