//===- AttentionGradMma.cu - gradients of attention on tensor cores -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of AttentionGrad.cu for bf16 and f16 and heads of 64 and 128 elements, with
// products by mma.sync and sums in f32; p and ds are rounded to T for the products that
// follow, as KERNELS.md says. D of every row is there already. Two launches, none with
// atomics: dq, a block for 64 queries of a head that walks over the keys; dk and dv, a block
// for 64 keys of a KV head that walks over the queries of all its heads in order. Each
// computes the probabilities anew from lse: seven products instead of five, for bits that
// are the same every time.
// Bound by the tensor cores: of their dense peak, counting five products, 30% expected on
// sm_80, 20% on sm_90 and sm_100 (AttentionMma.cu). Estimates: no GPU has run this.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/AttentionMma.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// What a query's row has beside its elements.
struct RowFacts {
  float lse, total; ///< lse in powers of two
};

template <typename T>
__device__ __forceinline__ RowFacts factsOf(const AttentionGradOperands<T> &o, int64_t b, int64_t head, int64_t row) {
  if (row >= o.shape.sequence)
    return {0, 0};
  int64_t at = o.shape.rowAt(b, head, row);
  return {o.lse[at] * log2OfE, o.total[at]};
}

/// score becomes the probability times its factor of dropout, dp the gradient of the score.
template <bool Drops, typename T>
__device__ __forceinline__ void gradOfScore(const AttentionGradOperands<T> &o, int64_t b, int64_t head, int64_t row,
                                            int64_t key, RowFacts facts, float &score, float &dp) {
  const AttentionShape &g = o.shape;
  bool isSeen = row < g.sequence && key < g.sequence && (!g.causal || key <= row);
  float scale = float(g.scale), p = isSeen ? exp2Of(scale * log2OfE * score - facts.lse) : 0.0f, factor = 1;
  if constexpr (Drops)
    factor = o.mask.template factor<float>(b, head, row, key);
  score = p * factor;
  dp = scale * p * (factor * dp - facts.total);
}

template <typename T, int C, bool Drops>
__global__ void __launch_bounds__(mmaThreads, Drops ? 2 : 3) queryGradTiles(AttentionGradOperands<T> o) {
  constexpr int Keys = walkedRows<C>, own = mmaTile<C, mmaRows>, size = mmaTile<C, Keys>;
  TGPT_DYNAMIC_SHARED(T, shared);
  const AttentionShape &g = o.shape;
  int64_t b = blockIdx.z, head = blockIdx.y, kvHead = head / (g.heads / g.kvHeads);
  int64_t row0 = int64_t(gridDim.x - 1 - blockIdx.x) * mmaRows; // the longest rows first
  int64_t row = row0 + int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  Shared<T> q = sharedPart<T>(shared, 0, own), dout = sharedPart<T>(shared, own, own);
  auto tileOf = [&](int64_t number, int which) {
    return sharedPart<T>(shared, 2 * own + (number % 2 * 2 + which) * size, size);
  };
  auto copyKeys = [&](int64_t number) {
    const T *k = o.k + g.keyAt(b, 0, kvHead), *v = o.v + g.keyAt(b, 0, kvHead);
    copyTile<C, Keys, T>(tileOf(number, 0), k, number * Keys, g.sequence, g.kvHeads * C);
    copyTile<C, Keys, T>(tileOf(number, 1), v, number * Keys, g.sequence, g.kvHeads * C);
  };
  copyTile<C, mmaRows, T>(q, o.q + g.queryAt(b, 0, head), row0, g.sequence, g.heads * C);
  copyTile<C, mmaRows, T>(dout, o.dout + g.queryAt(b, 0, head), row0, g.sequence, g.heads * C);
  copyKeys(0);
  RowFacts facts[2] = {factsOf(o, b, head, row), factsOf(o, b, head, row + 8)};
  FragmentC sums[C / 8] = {};
  int64_t keys = g.causal && row0 + mmaRows < g.sequence ? row0 + mmaRows : g.sequence;
  int64_t tiles = (keys + Keys - 1) / Keys;
  for (int64_t i = 0; i < tiles; ++i) {
    waitForCopies();
    __syncthreads(); // this tile is there, and nobody reads the last one
    if (i + 1 < tiles)
      copyKeys(i + 1);
    FragmentC scores[Keys / 8] = {}, ds[Keys / 8] = {};
    multiplyRows<C, T>(q, tileOf(i, 0), scores);
    multiplyRows<C, T>(dout, tileOf(i, 1), ds);
    TGPT_UNROLL
    for (int j = 0; j < Keys / 2; ++j) {
      int64_t key = i * Keys + j / 4 * 8 + int(threadIdx.x) % 4 * 2 + j % 2;
      int half = j % 4 / 2;
      gradOfScore<Drops>(o, b, head, row + 8 * half, key, facts[half], scores[j / 4].at[j % 4], ds[j / 4].at[j % 4]);
    }
    FragmentA weights[Keys / 16];
    round<T>(ds, weights);
    addRows<C, T>(weights, tileOf(i, 0), sums);
  }
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r)
    if (row + 8 * r < g.sequence)
      storeRow<C>(o.dq + g.queryAt(b, row + 8 * r, head), sums, r, 1);
}

template <typename T, int C, bool Drops>
__global__ void __launch_bounds__(mmaThreads) keyGradTiles(AttentionGradOperands<T> o) {
  constexpr int Rows = walkedRows<C>, own = mmaTile<C, mmaRows>, size = mmaTile<C, Rows>;
  TGPT_DYNAMIC_SHARED(T, shared);
  const AttentionShape &g = o.shape;
  int64_t b = blockIdx.z, kvHead = blockIdx.y, heads = g.heads / g.kvHeads;
  int64_t key0 = int64_t(blockIdx.x) * mmaRows;
  int64_t key = key0 + int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  int64_t first = g.causal ? key0 : 0, tilesOfHead = (g.sequence - first + Rows - 1) / Rows;
  Shared<T> k = sharedPart<T>(shared, 0, own), v = sharedPart<T>(shared, own, own);
  auto tileOf = [&](int64_t number, int which) {
    return sharedPart<T>(shared, 2 * own + (number % 2 * 2 + which) * size, size);
  };
  auto headOf = [&](int64_t number) { return kvHead * heads + number / tilesOfHead; };
  auto rowOf = [&](int64_t number) { return first + number % tilesOfHead * Rows; };
  auto copyQueries = [&](int64_t number) {
    int64_t at = g.queryAt(b, 0, headOf(number));
    copyTile<C, Rows, T>(tileOf(number, 0), o.q + at, rowOf(number), g.sequence, g.heads * C);
    copyTile<C, Rows, T>(tileOf(number, 1), o.dout + at, rowOf(number), g.sequence, g.heads * C);
  };
  copyTile<C, mmaRows, T>(k, o.k + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * C);
  copyTile<C, mmaRows, T>(v, o.v + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * C);
  copyQueries(0);
  FragmentC dk[C / 8] = {}, dv[C / 8] = {};
  for (int64_t i = 0; i < heads * tilesOfHead; ++i) {
    waitForCopies();
    __syncthreads(); // this tile is there, and nobody reads the last one
    if (i + 1 < heads * tilesOfHead)
      copyQueries(i + 1);
    FragmentC p[Rows / 8] = {}, ds[Rows / 8] = {};
    multiplyRows<C, T>(k, tileOf(i, 0), p);
    multiplyRows<C, T>(v, tileOf(i, 1), ds);
    TGPT_UNROLL
    for (int j = 0; j < Rows / 4; ++j) {
      int64_t row = rowOf(i) + j / 2 * 8 + int(threadIdx.x) % 4 * 2 + j % 2;
      RowFacts facts = factsOf(o, b, headOf(i), row);
      TGPT_UNROLL
      for (int half = 0; half < 2; ++half)
        gradOfScore<Drops>(o, b, headOf(i), row, key + 8 * half, facts, p[j / 2].at[2 * half + j % 2],
                           ds[j / 2].at[2 * half + j % 2]);
    }
    FragmentA weights[Rows / 16];
    round<T>(p, weights);
    addRows<C, T>(weights, tileOf(i, 1), dv);
    round<T>(ds, weights);
    addRows<C, T>(weights, tileOf(i, 0), dk);
  }
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r)
    if (key + 8 * r < g.sequence) {
      storeRow<C>(o.dk + g.keyAt(b, key + 8 * r, kvHead), dk, r, 1);
      storeRow<C>(o.dv + g.keyAt(b, key + 8 * r, kvHead), dv, r, 1);
    }
}

template <typename T> KernelStatus attentionGradByMma(const AttentionGradOperands<T> &o) {
  const AttentionShape &g = o.shape;
  return forMmaKernel(g, o.mask.samples != nullptr, [&](auto c, auto drops) -> KernelStatus {
    constexpr int C = decltype(c)::value;
    constexpr bool Drops = decltype(drops)::value;
    size_t bytes = (2 * mmaTile<C, mmaRows> + 4 * mmaTile<C, walkedRows<C>>)*sizeof(T);
    dim3 queries(unsigned(g.tiles(mmaRows)), unsigned(g.heads), unsigned(g.batch));
    dim3 keys(unsigned(g.tiles(mmaRows)), unsigned(g.kvHeads), unsigned(g.batch));
    return Launches()
        .then(LaunchShape(queries, mmaThreads, bytes), queryGradTiles<T, C, Drops>, o)
        .then(LaunchShape(keys, mmaThreads, bytes), keyGradTiles<T, C, Drops>, o);
  });
}

template KernelStatus attentionGradByMma(const AttentionGradOperands<BFloat16> &);
template KernelStatus attentionGradByMma(const AttentionGradOperands<Float16> &);

} // namespace tgpt::runtime::cuda::TGPT_TARGET
