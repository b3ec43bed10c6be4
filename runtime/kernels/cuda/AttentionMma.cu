//===- AttentionMma.cu - attention on tensor cores -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formula of Attention.cu for bf16 and f16 and heads of 64 and 128 elements, with
// products by mma.sync and sums, softmax and lse in f32; probabilities are rounded to T for
// the product with v, as KERNELS.md says. A block has 64 query rows of a head and walks over
// the keys 64 (heads of 128: 32) at a time, tiles copied ahead; the order of sums depends on
// the number of keys alone, and no two blocks write the same element.
// Bound by the tensor cores: of their dense peak, for causal sequences of 2048 and more, 45%
// expected on sm_80, 30% on sm_90 and sm_100, whose peak only wgmma and tcgen05 reach.
// Estimates: no GPU has run this. The time of small sequences is that of their longest row.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/AttentionMma.h"

#include <limits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
/// Running maximum, in powers of two, and sum over this thread's keys, of rows g and g + 8.
struct MmaRows {
  float most[2], sum[2];
};
} // namespace

/// Scores become probabilities against the new maxima, times their factors of dropout; shrink: by
/// what earlier sums shrink. `row` is the number of the thread's first row.
template <bool Drops, typename T, int N>
__device__ __forceinline__ void softmaxTile(const AttentionOperands<T> &o, int64_t b, int64_t head, int64_t row,
                                            int64_t key0, FragmentC (&scores)[N], MmaRows &rows, float (&shrink)[2]) {
  const AttentionShape &g = o.shape;
  float scale = float(g.scale) * log2OfE;
  int64_t firstKey = key0 + int(threadIdx.x) % 4 * 2;
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r) {
    int64_t keys = g.causal && row + 8 * r < g.sequence ? row + 8 * r + 1 : g.sequence;
    int visible = int(keys - firstKey < N * 8 ? keys - firstKey : N * 8); // keys of this tile before it are seen
    float most = rows.most[r];
    TGPT_UNROLL
    for (int i = 0; i < 2 * N; ++i) {
      float &score = scores[i / 2].at[2 * r + i % 2];
      score = i / 2 * 8 + i % 2 < visible ? scale * score : -std::numeric_limits<float>::infinity();
      most = score > most ? score : most;
    }
    TGPT_UNROLL
    for (int offset = 2; offset > 0; offset /= 2) {
      float other = shuffleXor(most, offset);
      most = other > most ? other : most;
    }
    float sum = 0;
    TGPT_UNROLL
    for (int i = 0; i < 2 * N; ++i) {
      float &p = scores[i / 2].at[2 * r + i % 2];
      p = exp2Of(p - most);
      sum += p;
      if constexpr (Drops)
        p *= o.mask.template factor<float>(b, head, row + 8 * r, firstKey + i / 2 * 8 + i % 2);
    }
    shrink[r] = exp2Of(rows.most[r] - most);
    rows.sum[r] = rows.sum[r] * shrink[r] + sum;
    rows.most[r] = most;
  }
}

template <typename T, int C, bool Drops>
__global__ void __launch_bounds__(mmaThreads) attendTiles(AttentionOperands<T> o) {
  constexpr int Keys = walkedRows<C>, size = mmaTile<C, Keys>;
  TGPT_DYNAMIC_SHARED(T, shared);
  const AttentionShape &g = o.shape;
  int64_t b = blockIdx.z, head = blockIdx.y, kvHead = head / (g.heads / g.kvHeads);
  int64_t row0 = int64_t(gridDim.x - 1 - blockIdx.x) * mmaRows; // the longest rows first
  int64_t row = row0 + int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  Shared<T> q = sharedPart<T>(shared, 0, mmaTile<C, mmaRows>);
  auto tileOf = [&](int64_t number, int which) {
    return sharedPart<T>(shared, mmaTile<C, mmaRows> + (number % 2 * 2 + which) * size, size);
  };
  auto copyKeys = [&](int64_t number) {
    const T *k = o.k + g.keyAt(b, 0, kvHead), *v = o.v + g.keyAt(b, 0, kvHead);
    copyTile<C, Keys, T>(tileOf(number, 0), k, number * Keys, g.sequence, g.kvHeads * C);
    copyTile<C, Keys, T>(tileOf(number, 1), v, number * Keys, g.sequence, g.kvHeads * C);
  };
  copyTile<C, mmaRows, T>(q, o.q + g.queryAt(b, 0, head), row0, g.sequence, g.heads * C);
  copyKeys(0);
  FragmentC sums[C / 8] = {};
  constexpr float none = -std::numeric_limits<float>::infinity();
  MmaRows rows{{none, none}, {0, 0}};
  int64_t keys = g.causal && row0 + mmaRows < g.sequence ? row0 + mmaRows : g.sequence;
  int64_t tiles = (keys + Keys - 1) / Keys;
  for (int64_t i = 0; i < tiles; ++i) {
    waitForCopies();
    __syncthreads(); // this tile is there, and nobody reads the last one
    if (i + 1 < tiles)
      copyKeys(i + 1);
    FragmentC scores[Keys / 8] = {};
    float shrink[2];
    multiplyRows<C, T>(q, tileOf(i, 0), scores);
    softmaxTile<Drops>(o, b, head, row, i * Keys, scores, rows, shrink);
    TGPT_UNROLL
    for (int e = 0; e < C / 2; ++e)
      sums[e / 4].at[e % 4] *= shrink[e % 4 / 2];
    FragmentA p[Keys / 16];
    round<T>(scores, p);
    addRows<C, T>(p, tileOf(i, 1), sums);
  }
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r) {
    float sum = rows.sum[r];
    sum += shuffleXor(sum, 1);
    sum += shuffleXor(sum, 2);
    if (row + 8 * r >= g.sequence)
      continue;
    storeRow<C>(o.o + g.queryAt(b, row + 8 * r, head), sums, r, 1 / sum);
    if (threadIdx.x % 4 == 0)
      o.lse[g.rowAt(b, head, row + 8 * r)] = rows.most[r] * logOf2 + std::log(sum);
  }
}

template <typename T> KernelStatus attendByMma(const AttentionOperands<T> &o) {
  const AttentionShape &g = o.shape;
  dim3 grid(unsigned(g.tiles(mmaRows)), unsigned(g.heads), unsigned(g.batch));
  return forMmaKernel(g, o.mask.samples != nullptr, [&](auto c, auto drops) {
    constexpr int C = decltype(c)::value;
    size_t bytes = (mmaTile<C, mmaRows> + 4 * mmaTile<C, walkedRows<C>>)*sizeof(T);
    return launch(LaunchShape(grid, mmaThreads, bytes), attendTiles<T, C, decltype(drops)::value>, o);
  });
}

template KernelStatus attendByMma(const AttentionOperands<BFloat16> &);
template KernelStatus attendByMma(const AttentionOperands<Float16> &);

} // namespace tgpt::runtime::cuda::TGPT_TARGET
