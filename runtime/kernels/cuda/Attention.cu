//===- Attention.cu - tiled online-softmax attention ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// o = softmax(scale q k^T + mask) v; lse = log sum exp of the scaled, masked row. With
// dropout the probabilities are multiplied by the factors of AttentionMask.
// q, o T[b,s,heads*c], k, v T[b,s,kvHeads*c], lse A[b,heads,s].
// A block has 32 query rows of a head and walks over the keys 32 at a time: scores in
// registers, running maximum and sum of each row, o rescaled as the maximum grows. No
// score reaches memory. Arithmetic in A throughout; heads of up to 256 elements (f64: 128).
// Bound by the FMA units without tensor cores, not by memory: 35% of their f32 peak
// expected for heads of 64 and 128. The order depends on the number of keys alone, so
// attribute `chunks` = 1 changes nothing. In bf16 and f16, heads of 64 and 128 elements
// without that attribute go to AttentionMma.cu.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/AttentionTile.h"
#include "runtime/kernels/cuda/Mma.h"

#include <limits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
/// Running maximum and sum of the thread's two rows, equal on the 8 threads of a row.
template <typename A> struct RowState { A most[2], sum[2]; };
} // namespace

/// Scores of a tile become probabilities against the new maximum, times their factors of
/// dropout, in `scores`; returns by what earlier sums shrink.
template <typename T, typename A>
__device__ void softmaxTile(const AttentionOperands<T> &o, A (&dots)[2][4], int64_t b, int64_t head, int64_t row0,
                            int64_t key0, RowState<A> &state, Shared<A> scores, A (&shrink)[2]) {
  int ty = int(threadIdx.x) / 8, tx = int(threadIdx.x) % 8;
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r) {
    int64_t row = row0 + 2 * ty + r;
    A most = state.most[r];
    TGPT_UNROLL
    for (int i = 0; i < 4; ++i) {
      int64_t key = key0 + tx + 8 * i;
      bool isSeen = key < o.shape.sequence && (!o.shape.causal || key <= row);
      dots[r][i] = isSeen ? A(o.shape.scale) * dots[r][i] : A(-std::numeric_limits<A>::infinity());
      most = dots[r][i] > most ? dots[r][i] : most;
    }
    TGPT_UNROLL
    for (int offset = 4; offset > 0; offset /= 2) {
      A other = shuffleXor(most, offset);
      most = other > most ? other : most;
    }
    A sum = 0;
    TGPT_UNROLL
    for (int i = 0; i < 4; ++i) {
      int64_t key = key0 + tx + 8 * i;
      A p = std::exp(dots[r][i] - most);
      sum += p;
      scores[(2 * ty + r) * scoreStride + tx + 8 * i] =
          o.mask.samples ? p * o.mask.template factor<A>(b, head, row, key) : p;
    }
    TGPT_UNROLL
    for (int offset = 4; offset > 0; offset /= 2)
      sum += shuffleXor(sum, offset);
    shrink[r] = std::exp(state.most[r] - most);
    state.sum[r] = state.sum[r] * shrink[r] + sum;
    state.most[r] = most;
  }
}

template <typename T, int K> __global__ void __launch_bounds__(attentionThreads) attend(AttentionOperands<T> o) {
  using A = AccumulatorOf<T>;
  TGPT_DYNAMIC_SHARED(A, shared);
  const AttentionShape &g = o.shape;
  int64_t b = blockIdx.z, head = blockIdx.y, kvHead = head / (g.heads / g.kvHeads), size = tileElements<A>(g.c);
  int64_t row0 = int64_t(gridDim.x - 1 - blockIdx.x) * attentionTile; // the longest rows first
  Shared<A> q = sharedPart<A>(shared, 0, size), k = sharedPart<A>(shared, size, size);
  Shared<A> v = sharedPart<A>(shared, 2 * size, size);
  Shared<A> scores = sharedPart<A>(shared, 3 * size, attentionTile * scoreStride);
  loadTile<T, A>(q, o.q + g.queryAt(b, 0, head), row0, g.sequence, g.heads * g.c, g.c, o.inVectors);
  RowSums<A, K> sums = {};
  RowState<A> state{{A(-std::numeric_limits<A>::infinity()), A(-std::numeric_limits<A>::infinity())}, {A(0), A(0)}};
  int64_t keys = g.causal && row0 + attentionTile < g.sequence ? row0 + attentionTile : g.sequence;
  for (int64_t key0 = 0; key0 < keys; key0 += attentionTile) {
    __syncthreads();
    loadTile<T, A>(k, o.k + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c, o.inVectors);
    loadTile<T, A>(v, o.v + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c, o.inVectors);
    __syncthreads();
    A dots[2][4], shrink[2];
    multiplyTiles<A>(q, k, g.c, dots);
    softmaxTile(o, dots, b, head, row0, key0, state, scores, shrink);
    TGPT_UNROLL
    for (int r = 0; r < 2; ++r)
      TGPT_UNROLL
    for (int i = 0; i < K; ++i)
      TGPT_UNROLL
    for (int w = 0; w < vectorOf<A>; ++w)
      sums[r][i].at[w] *= shrink[r];
    __syncwarp(); // a warp reads the scores it wrote
    addColumns<K, A>(scores, v, g.c, int(keys - key0 < attentionTile ? keys - key0 : attentionTile), sums);
    __syncwarp();
  }
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r) {
    int64_t row = row0 + int(threadIdx.x) / 8 * 2 + r;
    if (row >= g.sequence)
      continue;
    storeSums<K>(o.o + g.queryAt(b, row, head), g.c, sums[r], A(1) / state.sum[r]);
    if (threadIdx.x % 8 == 0)
      o.lse[g.rowAt(b, head, row)] = state.most[r] + std::log(state.sum[r]);
  }
}

KernelStatus attention(const KernelCall &call) {
  AttentionShape shape(call, call.inputs[0], call.inputs[1]);
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    AttentionOperands<T> o{call.inputs[0].as<T>(),  call.inputs[1].as<T>(),
                           call.inputs[2].as<T>(),  call.outputs[0].as<T>(),
                           call.outputs[1].as<A>(), shape,
                           AttentionMask(call, 3),  false};
    o.inVectors = headsAreAligned<T>(shape.c, o.q, o.k, o.v);
    if constexpr (hasMma<T>)
      if (isForMma(call, shape) && headsAreAligned<T>(shape.c, o.q, o.k, o.v, o.o))
        return attendByMma(o);
    dim3 grid(unsigned(shape.tiles(attentionTile)), unsigned(shape.heads), unsigned(shape.batch));
    return forHeadSize<A>(shape.c, [&](auto k) {
      return launch(LaunchShape(grid, attentionThreads, attentionSharedBytes<A>(shape.c, 3, 1)),
                    attend<T, decltype(k)::value>, o);
    });
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
