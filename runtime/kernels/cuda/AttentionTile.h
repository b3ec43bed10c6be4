//===- AttentionTile.h - 32 rows against 32 columns -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block works on 32 rows against 32 columns at a time, both in shared memory in A:
// rows of c elements, padded so that the 8 rows a quarter warp reads at once lie in
// different banks. Thread (ty, tx) = (thread / 8, thread % 8) has rows 2 ty and 2 ty + 1,
// of their scores columns tx + 8 i, and of their sums over columns vectors tx + 8 k.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONTILE_H
#define TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONTILE_H

#include "runtime/kernels/cuda/AttentionOperands.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr int attentionTile = 32, attentionThreads = 128, scoreStride = attentionTile + 1;

/// Elements of a head, in whole vectors of A, and the distance between rows of a tile.
template <typename A> __host__ __device__ constexpr int64_t paddedHead(int64_t c) {
  return (c + vectorOf<A> - 1) / vectorOf<A> * vectorOf<A>;
}
template <typename A> __host__ __device__ constexpr int64_t tileStride(int64_t c) {
  return paddedHead<A>(c) + vectorOf<A>;
}
template <typename A> __host__ __device__ constexpr int64_t tileElements(int64_t c) {
  return attentionTile * tileStride<A>(c);
}
/// Bytes of `tiles` tiles and `scores` tiles of scores.
template <typename A> size_t attentionSharedBytes(int64_t c, int64_t tiles, int64_t scores) {
  return size_t(tiles * tileElements<A>(c) + scores * attentionTile * scoreStride) * sizeof(A);
}

/// Rows [first, first + 32) of c elements, `distance` apart from `from` on; 0 beyond `end`.
template <typename T, typename A>
__device__ void loadTile(Shared<A> tile, const T *from, int64_t first, int64_t end, int64_t distance, int64_t c,
                         bool inVectors) {
  constexpr int V = vectorOf<T>;
  int64_t stride = tileStride<A>(c), padded = paddedHead<A>(c);
  if (inVectors) {
    int vectors = int(c / V);
    for (int i = int(threadIdx.x); i < attentionTile * vectors; i += attentionThreads) {
      int64_t row = i / vectors, e = i % vectors * V;
      Pack<T, V> in{};
      if (first + row < end)
        in = loadPack<V>(from + (first + row) * distance + e);
      Pack<A, V> out;
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        out.at[k] = load(in.at[k]);
      storePack(sharedAt<A>(tile, row * stride + e, V), out);
    }
    return;
  }
  for (int64_t i = threadIdx.x; i < attentionTile * padded; i += attentionThreads) {
    int64_t row = i / padded, e = i % padded;
    bool isInside = first + row < end && e < c;
    tile[row * stride + e] = isInside ? A(load(from[(first + row) * distance + e])) : A(0);
  }
}

/// dots[r][i] = row 2 ty + r of `rows` times row tx + 8 i of `columns`.
template <typename A> __device__ void multiplyTiles(Shared<A> rows, Shared<A> columns, int64_t c, A (&dots)[2][4]) {
  constexpr int W = vectorOf<A>;
  int64_t stride = tileStride<A>(c), padded = paddedHead<A>(c);
  int ty = int(threadIdx.x) / 8, tx = int(threadIdx.x) % 8;
  TGPT_UNROLL
  for (int i = 0; i < 8; ++i)
    dots[i / 4][i % 4] = A(0);
  for (int64_t e = 0; e < padded; e += W) {
    Pack<A, W> left[2];
    TGPT_UNROLL
    for (int r = 0; r < 2; ++r)
      left[r] = loadPack<W>(sharedAt<A>(rows, (2 * ty + r) * stride + e, W));
    TGPT_UNROLL
    for (int i = 0; i < 4; ++i) {
      Pack<A, W> right = loadPack<W>(sharedAt<A>(columns, (tx + 8 * i) * stride + e, W));
      TGPT_UNROLL
      for (int r = 0; r < 2; ++r)
        TGPT_UNROLL
      for (int k = 0; k < W; ++k)
        dots[r][i] += left[r].at[k] * right.at[k];
    }
  }
}

/// Sums over the columns of a tile, for two rows: K vectors of a thread.
template <typename A, int K> using RowSums = Pack<A, vectorOf<A>>[2][K];

/// sums[r] += sum over j < count of scores[2 ty + r][j] times row j of `columns`.
template <int K, typename A>
__device__ void addColumns(Shared<A> scores, Shared<A> columns, int64_t c, int count, RowSums<A, K> &sums) {
  constexpr int W = vectorOf<A>;
  int64_t stride = tileStride<A>(c), padded = paddedHead<A>(c);
  int ty = int(threadIdx.x) / 8, tx = int(threadIdx.x) % 8;
  for (int j = 0; j < count; ++j) {
    A s[2] = {scores[2 * ty * scoreStride + j], scores[(2 * ty + 1) * scoreStride + j]};
    TGPT_UNROLL
    for (int k = 0; k < K; ++k) {
      int64_t e = (tx + 8 * k) * W;
      if (e >= padded)
        continue;
      Pack<A, W> in = loadPack<W>(sharedAt<A>(columns, j * stride + e, W));
      TGPT_UNROLL
      for (int r = 0; r < 2; ++r)
        TGPT_UNROLL
      for (int w = 0; w < W; ++w)
        sums[r][k].at[w] += s[r] * in.at[w];
    }
  }
}

/// to[e] = sums[r] factor, e < c.
template <int K, typename T, typename A>
__device__ void storeSums(T *to, int64_t c, const Pack<A, vectorOf<A>> (&sums)[K], A factor) {
  constexpr int W = vectorOf<A>;
  int tx = int(threadIdx.x) % 8;
  TGPT_UNROLL
  for (int k = 0; k < K; ++k)
    TGPT_UNROLL
  for (int w = 0; w < W; ++w)
    if (int64_t e = (tx + 8 * k) * W + w; e < c)
      to[e] = store<T>(sums[k].at[w] * factor);
}

/// function(std::integral_constant<int, K>) with the least K in 2, 4, 8 whose 8 K vectors hold a head.
template <typename A, typename Function> KernelStatus forHeadSize(int64_t c, Function &&function) {
  int64_t perK = 8 * vectorOf<A>;
  if (c <= 2 * perK)
    return function(std::integral_constant<int, 2>());
  return c <= 4 * perK ? function(std::integral_constant<int, 4>()) : function(std::integral_constant<int, 8>());
}

/// The largest head that forHeadSize and the shared memory of sm_80 serve.
constexpr int64_t mostHeadDim(DType dtype) {
  return dtype == DType::F64 ? 128 : 256;
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONTILE_H
