//===- AttentionGrad.cu - gradients of attention ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With p = exp(scale q k^T - lse), D_i = sum over e of do_ie o_ie, m the factors of
// dropout and ds = scale p (m (do v^T) - D): dv = (m p)^T do, dq = ds k, dk = ds^T q.
// do, q, o, dq T[b,s,heads*c], k, v, dk, dv T[b,s,kvHeads*c], lse A[b,heads,s].
// Three launches, none with atomics: D of every row; dq, a block for 32 queries of a head
// that walks over the keys; dk and dv, a block for 32 keys of a KV head that walks over
// the queries of all its heads in order. Probabilities are computed twice from lse.
// Arithmetic in A; heads of up to 256 elements (f64: 128). Bound by the FMA units without
// tensor cores: 30% of their f32 peak expected. With attribute `chunks` the query heads
// are cut into so many equal chunks, as many for every KV head, whose dk and dv wait in
// the workspace and are added in a tree. In bf16 and f16, heads of 64 and 128 elements
// without that attribute go to AttentionGradMma.cu after the first launch.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/AttentionTile.h"
#include "runtime/kernels/cuda/Mma.h"
#include "runtime/kernels/cuda/Reduce.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// A warp has a row.
template <typename T> __global__ void __launch_bounds__(attentionThreads) dotRows(AttentionGradOperands<T> o) {
  using A = AccumulatorOf<T>;
  const AttentionShape &g = o.shape;
  int64_t index = int64_t(blockIdx.x) * (attentionThreads / 32) + threadIdx.x / 32;
  if (index >= g.batch * g.heads * g.sequence)
    return;
  int64_t row = index % g.sequence, head = index / g.sequence % g.heads, b = index / g.sequence / g.heads;
  int64_t at = g.queryAt(b, row, head);
  A sum = 0;
  for (int64_t e = threadIdx.x % 32; e < g.c; e += 32)
    sum += load(o.dout[at + e]) * load(o.o[at + e]);
  sum = reduceWarp(sum, Sum());
  if (threadIdx.x % 32 == 0)
    o.total[index] = sum;
}

namespace {
/// A probability and the gradient of its score.
template <typename A> struct ScoreGrad { A p, ds; };
} // namespace

/// Of query `row` and `key`, from their products; p has the factor of dropout.
template <typename T, typename A>
__device__ __forceinline__ ScoreGrad<A> gradOfScore(const AttentionGradOperands<T> &o, int64_t b, int64_t head,
                                                    int64_t row, int64_t key, A score, A dp, A lse, A total) {
  const AttentionShape &g = o.shape;
  bool isSeen = row < g.sequence && key < g.sequence && (!g.causal || key <= row);
  if (!isSeen)
    return {A(0), A(0)};
  A scale = A(g.scale), p = std::exp(scale * score - lse);
  if (!o.mask.samples)
    return {p, scale * p * (dp - total)};
  A factor = o.mask.template factor<A>(b, head, row, key);
  return {p * factor, scale * p * (factor * dp - total)};
}

template <typename T, int K> __global__ void __launch_bounds__(attentionThreads) queryGrad(AttentionGradOperands<T> o) {
  using A = AccumulatorOf<T>;
  TGPT_DYNAMIC_SHARED(A, shared);
  const AttentionShape &g = o.shape;
  int ty = int(threadIdx.x) / 8, tx = int(threadIdx.x) % 8;
  int64_t b = blockIdx.z, head = blockIdx.y, kvHead = head / (g.heads / g.kvHeads), size = tileElements<A>(g.c);
  int64_t row0 = int64_t(gridDim.x - 1 - blockIdx.x) * attentionTile; // the longest rows first
  Shared<A> q = sharedPart<A>(shared, 0, size), dout = sharedPart<A>(shared, size, size);
  Shared<A> k = sharedPart<A>(shared, 2 * size, size), v = sharedPart<A>(shared, 3 * size, size);
  Shared<A> ds = sharedPart<A>(shared, 4 * size, attentionTile * scoreStride);
  loadTile<T, A>(q, o.q + g.queryAt(b, 0, head), row0, g.sequence, g.heads * g.c, g.c, o.inVectors);
  loadTile<T, A>(dout, o.dout + g.queryAt(b, 0, head), row0, g.sequence, g.heads * g.c, g.c, o.inVectors);
  A lse[2] = {}, total[2] = {};
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r)
    if (int64_t row = row0 + 2 * ty + r; row < g.sequence) {
      lse[r] = o.lse[g.rowAt(b, head, row)];
      total[r] = o.total[g.rowAt(b, head, row)];
    }
  RowSums<A, K> sums = {};
  int64_t keys = g.causal && row0 + attentionTile < g.sequence ? row0 + attentionTile : g.sequence;
  for (int64_t key0 = 0; key0 < keys; key0 += attentionTile) {
    __syncthreads();
    loadTile<T, A>(k, o.k + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c, o.inVectors);
    loadTile<T, A>(v, o.v + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c, o.inVectors);
    __syncthreads();
    A scores[2][4], dp[2][4];
    multiplyTiles<A>(q, k, g.c, scores);
    multiplyTiles<A>(dout, v, g.c, dp);
    TGPT_UNROLL
    for (int r = 0; r < 2; ++r)
      TGPT_UNROLL
    for (int i = 0; i < 4; ++i)
      ds[(2 * ty + r) * scoreStride + tx + 8 * i] =
          gradOfScore(o, b, head, row0 + 2 * ty + r, key0 + tx + 8 * i, scores[r][i], dp[r][i], lse[r], total[r]).ds;
    __syncwarp(); // a warp reads what it wrote
    addColumns<K, A>(ds, k, g.c, int(keys - key0 < attentionTile ? keys - key0 : attentionTile), sums);
    __syncwarp();
  }
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r)
    if (int64_t row = row0 + 2 * ty + r; row < g.sequence)
      storeSums<K>(o.dq + g.queryAt(b, row, head), g.c, sums[r], A(1));
}

/// Adds the queries [row0, row0 + 32) of a head to the sums of the block's keys.
template <int K, typename T, typename A>
__device__ void addQueries(const AttentionGradOperands<T> &o, int64_t b, int64_t head, int64_t row0, int64_t key0,
                           Shared<A> shared, RowSums<A, K> &dk, RowSums<A, K> &dv) {
  const AttentionShape &g = o.shape;
  int ty = int(threadIdx.x) / 8, tx = int(threadIdx.x) % 8;
  int64_t size = tileElements<A>(g.c), scoreSize = attentionTile * scoreStride;
  Shared<A> k = sharedPart<A>(shared, 0, size), v = sharedPart<A>(shared, size, size);
  Shared<A> q = sharedPart<A>(shared, 2 * size, size), dout = sharedPart<A>(shared, 3 * size, size);
  Shared<A> p = sharedPart<A>(shared, 4 * size, scoreSize), ds = sharedPart<A>(shared, 4 * size + scoreSize, scoreSize);
  __syncthreads();
  loadTile<T, A>(q, o.q + g.queryAt(b, 0, head), row0, g.sequence, g.heads * g.c, g.c, o.inVectors);
  loadTile<T, A>(dout, o.dout + g.queryAt(b, 0, head), row0, g.sequence, g.heads * g.c, g.c, o.inVectors);
  __syncthreads();
  A scores[2][4], dp[2][4];
  multiplyTiles<A>(k, q, g.c, scores);
  multiplyTiles<A>(v, dout, g.c, dp);
  TGPT_UNROLL
  for (int i = 0; i < 4; ++i) {
    int64_t row = row0 + tx + 8 * i, at = g.rowAt(b, head, row < g.sequence ? row : g.sequence - 1);
    A lse = o.lse[at], total = o.total[at];
    TGPT_UNROLL
    for (int r = 0; r < 2; ++r) {
      ScoreGrad<A> grad = gradOfScore(o, b, head, row, key0 + 2 * ty + r, scores[r][i], dp[r][i], lse, total);
      p[(2 * ty + r) * scoreStride + tx + 8 * i] = grad.p;
      ds[(2 * ty + r) * scoreStride + tx + 8 * i] = grad.ds;
    }
  }
  __syncwarp(); // a warp reads what it wrote
  int rows = int(g.sequence - row0 < attentionTile ? g.sequence - row0 : attentionTile);
  addColumns<K, A>(p, dout, g.c, rows, dv);
  addColumns<K, A>(ds, q, g.c, rows, dk);
  __syncwarp();
}

template <typename T, int K> __global__ void __launch_bounds__(attentionThreads) keyGrad(AttentionGradOperands<T> o) {
  using A = AccumulatorOf<T>;
  TGPT_DYNAMIC_SHARED(A, shared);
  const AttentionShape &g = o.shape;
  int64_t b = blockIdx.z, group = blockIdx.y, kvHead = group / o.parts, size = tileElements<A>(g.c);
  int64_t key0 = int64_t(blockIdx.x) * attentionTile, headsOfPart = g.heads / (g.kvHeads * o.parts);
  loadTile<T, A>(sharedPart<A>(shared, 0, size), o.k + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c,
                 o.inVectors);
  loadTile<T, A>(sharedPart<A>(shared, size, size), o.v + g.keyAt(b, 0, kvHead), key0, g.sequence, g.kvHeads * g.c, g.c,
                 o.inVectors);
  RowSums<A, K> dk = {}, dv = {};
  for (int64_t head = group * headsOfPart; head < (group + 1) * headsOfPart; ++head)
    for (int64_t row0 = g.causal ? key0 : 0; row0 < g.sequence; row0 += attentionTile)
      addQueries<K, T, A>(o, b, head, row0, key0, shared, dk, dv);
  TGPT_UNROLL
  for (int r = 0; r < 2; ++r) {
    int64_t key = key0 + int(threadIdx.x) / 8 * 2 + r;
    if (key >= g.sequence)
      continue;
    if (o.dkPart) {
      int64_t at = ((b * g.kvHeads * o.parts + group) * g.sequence + key) * g.c;
      storeSums<K>(o.dkPart + at, g.c, dk[r], A(1));
      storeSums<K>(o.dvPart + at, g.c, dv[r], A(1));
    } else {
      storeSums<K>(o.dk + g.keyAt(b, key, kvHead), g.c, dk[r], A(1));
      storeSums<K>(o.dv + g.keyAt(b, key, kvHead), g.c, dv[r], A(1));
    }
  }
}

/// to[b, key, kvHead] = the tree over the parts of the KV head; a thread has an element.
template <typename T>
__global__ void __launch_bounds__(attentionThreads)
    addHeadParts(AttentionShape g, AccumulatorOf<T> *sums, int64_t parts, int64_t first, int64_t count, T *to) {
  using A = AccumulatorOf<T>;
  int64_t index = int64_t(blockIdx.x) * attentionThreads + threadIdx.x, size = g.sequence * g.c;
  if (index >= g.batch * g.kvHeads * size)
    return;
  int64_t group = index / size, key = index % size / g.c, e = index % g.c;
  const A *from = sums + (group * parts + first) * size + index % size;
  A sum = sumScalars<A>(count, [&](int64_t part) { return from[part * size]; });
  to[g.keyAt(group / g.kvHeads, key, group % g.kvHeads) + e] = store<T>(sum);
}

/// Parts of a KV head's query heads.
static int64_t headParts(const KernelCall &call, const AttentionShape &shape) {
  int64_t chunks = call.attributes->integer("chunks");
  return chunks > 0 ? chunks / shape.kvHeads : 1;
}

size_t attentionGradWorkspace(const KernelCall &call) {
  AttentionShape shape(call, call.inputs[1], call.inputs[2]);
  return size_t(cost::attentionGradWorkspace(call.inputs[5].elements(), call.inputs[2].elements(),
                                             headParts(call, shape),
                                             int64_t(sizeInBytes(accumulatorOf(call.inputs[1].dtype)))));
}

template <typename T> static KernelStatus launchGrad(const AttentionGradOperands<T> &o, ChunkRange range, bool byMma) {
  using A = AccumulatorOf<T>;
  const AttentionShape &g = o.shape;
  Launches launches;
  launches.then(LaunchShape(unsigned(ceilDiv(g.batch * g.heads * g.sequence, attentionThreads / 32)), attentionThreads),
                dotRows<T>, o);
  if constexpr (hasMma<T>)
    if (KernelStatus status = launches; byMma)
      return status.ok() ? attentionGradByMma(o) : status;
  KernelStatus status = forHeadSize<A>(g.c, [&](auto k) -> KernelStatus {
    constexpr int K = decltype(k)::value;
    dim3 queries(unsigned(g.tiles(attentionTile)), unsigned(g.heads), unsigned(g.batch));
    dim3 keys(unsigned(g.tiles(attentionTile)), unsigned(g.kvHeads * o.parts), unsigned(g.batch));
    launches.then(LaunchShape(queries, attentionThreads, attentionSharedBytes<A>(g.c, 4, 1)), queryGrad<T, K>, o);
    launches.then(LaunchShape(keys, attentionThreads, attentionSharedBytes<A>(g.c, 4, 2)), keyGrad<T, K>, o);
    return launches;
  });
  if (!status.ok() || !o.dkPart)
    return status;
  LaunchShape shape(unsigned(ceilDiv(g.batch * g.kvHeads * g.sequence * g.c, attentionThreads)), attentionThreads);
  launches.then(shape, addHeadParts<T>, g, o.dkPart, o.parts, range.first, range.count, o.dk);
  launches.then(shape, addHeadParts<T>, g, o.dvPart, o.parts, range.first, range.count, o.dv);
  return launches;
}

KernelStatus attentionGrad(const KernelCall &call) {
  AttentionShape shape(call, call.inputs[1], call.inputs[2]);
  return forRealType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    auto in = [&](size_t i) { return call.inputs[i].as<T>(); };
    auto out = [&](size_t i) { return call.outputs[i].as<T>(); };
    AttentionGradOperands<T> o{in(0),
                               in(1),
                               in(2),
                               in(3),
                               in(4),
                               call.inputs[5].as<A>(),
                               out(0),
                               out(1),
                               out(2),
                               nullptr,
                               nullptr,
                               nullptr,
                               headParts(call, shape),
                               shape,
                               AttentionMask(call, 6),
                               false};
    o.inVectors = headsAreAligned<T>(shape.c, o.dout, o.q, o.k, o.v);
    Scratch scratch;
    o.total = scratch.take<A>(call.inputs[5].elements());
    if (o.parts > 1) {
      o.dkPart = scratch.take<A>(call.inputs[2].elements() * o.parts);
      o.dvPart = scratch.take<A>(call.inputs[2].elements() * o.parts);
    }
    if (!o.total || (o.parts > 1 && !o.dvPart))
      return {workspaceTooSmall};
    ChunkRange range = ChunkRange::of(*call.attributes); // all, or some of one KV head's
    bool isAligned = headsAreAligned<T>(shape.c, o.dout, o.q, o.k, o.v, o.dq, o.dk, o.dv);
    return launchGrad(o, range.isAll() ? ChunkRange{0, o.parts, o.parts} : range, isAligned && isForMma(call, shape));
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
