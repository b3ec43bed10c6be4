//===- Embedding.cu - looking rows up, and their gradient -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = table[id - vocab_offset], a row of zeros when that row is not held here.
// dtable[id - vocab_offset] += dy, in token order, in A.
// ids i32[tokens], table T[v,d], y and dy T[tokens,d], dtable A[v,d].
// Lookup: 2 elements moved for each; should run at 85% of the memory's bandwidth.
// Gradient, with no atomics: the block of a row's first token finds the others, 256 ids
// at a time, and adds their rows in order. Each token's block looks for an earlier one of
// the same row: tokens^2 / 2 comparisons at most, 0.1 ms for 8192 tokens, from the
// second-level cache. dy is read and dtable written once: 60% of the memory's bandwidth
// expected where d is 4096. With attribute `chunks` each row adds the tokens of so many
// equal parts in order, and the parts in a tree; a part without a token adds 0.//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Reduce.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int lookupThreads = 128, gradThreads = 256;

/// The local row of a token, or -1.
__device__ __forceinline__ int64_t localRow(const int32_t *ids, int64_t t, int64_t offset, int64_t rows) {
  int64_t row = int64_t(ids[t]) - offset;
  return row >= 0 && row < rows ? row : -1;
}

template <typename T> struct LookupOperands {
  const int32_t *ids;
  const T *table;
  T *y;
  int64_t rows, width, offset;
};

template <typename T, int V> __global__ void __launch_bounds__(lookupThreads) lookUp(LookupOperands<T> o) {
  int64_t token = blockIdx.x, row = localRow(o.ids, token, o.offset, o.rows);
  for (int64_t j = int64_t(threadIdx.x) * V; j < o.width; j += lookupThreads * V)
    storePack(o.y + token * o.width + j, row < 0 ? Pack<T, V>{} : loadPack<V>(o.table + row * o.width + j));
}

KernelStatus embedding(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &table = call.inputs[1], &y = call.outputs[0];
  return forRealType(y.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    LookupOperands<T> o{ids.as<int32_t>(), table.as<T>(), y.as<T>(),
                        table.dim(0),      y.dim(-1),     call.attributes->integer("vocab_offset")};
    LaunchShape shape(unsigned(ids.elements()), lookupThreads);
    return o.width % vectorOf<T> == 0 && areAligned(o.table, o.y) ? launch(shape, lookUp<T, vectorOf<T>>, o)
                                                                  : launch(shape, lookUp<T, 1>, o);
  });
}

template <typename T> struct EmbeddingGradOperands {
  const int32_t *ids;
  const T *dy;
  AccumulatorOf<T> *dtable;
  int64_t tokens, rows, width, offset, chunk; ///< chunk: tokens of a chunk
  int64_t first = 0, count = 0;               ///< chunks that are summed
};

template <typename A> __global__ void __launch_bounds__(gradThreads) clearRows(A *table, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * gradThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * gradThreads)
    table[i] = A(0);
}

/// Whether a token before `token` has the same id: the whole block asks.
__device__ inline bool hasEarlierToken(const int32_t *ids, int64_t token) {
  int32_t id = ids[token];
  for (int64_t base = 0; base < token; base += gradThreads) {
    int64_t t = base + threadIdx.x;
    if (sumOverBlock<gradThreads>(t < token && ids[t] == id ? 1 : 0) > 0)
      return true;
  }
  return false;
}

/// body(t) for every token from `first` on with its id, in order, on every thread.
template <typename Body> __device__ void forTokensOfRow(const int32_t *ids, int64_t first, int64_t tokens, Body body) {
  TGPT_SHARED(int32_t, isSame, gradThreads);
  int32_t id = ids[first];
  for (int64_t base = first; base < tokens; base += gradThreads) {
    int64_t t = base + threadIdx.x;
    int own = t < tokens && ids[t] == id;
    isSame[threadIdx.x] = own;
    int any = sumOverBlock<gradThreads>(own); // a barrier, too
    if (any > 0)
      for (int k = 0; k < gradThreads; ++k)
        if (isSame[k])
          body(base + k);
    __syncthreads();
  }
}

/// dtable row += dy of its tokens; a thread has V columns at a time.
template <typename T, int V> __global__ void __launch_bounds__(gradThreads, 4) addTokens(EmbeddingGradOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t token = blockIdx.x, row = localRow(o.ids, token, o.offset, o.rows);
  if (row < 0 || hasEarlierToken(o.ids, token))
    return;
  for (int64_t base = 0; base < o.width; base += gradThreads * V) {
    int64_t j = base + int64_t(threadIdx.x) * V;
    A *to = o.dtable + row * o.width + j;
    Pack<A, V> sums{};
    if (j < o.width)
      sums = loadPack<V>(to);
    forTokensOfRow(o.ids, token, o.tokens, [&](int64_t t) {
      if (j >= o.width)
        return;
      Pack<T, V> in = loadPack<V>(o.dy + t * o.width + j);
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        sums.at[k] += load(in.at[k]);
    });
    if (j < o.width)
      storePack(to, sums);
  }
}

/// The same with the chunks' sums in a tree: a stack of partial sums, one column a thread.
template <typename T> __global__ void __launch_bounds__(gradThreads) addTokensInTree(EmbeddingGradOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t token = blockIdx.x, row = localRow(o.ids, token, o.offset, o.rows);
  if (row < 0 || hasEarlierToken(o.ids, token))
    return;
  for (int64_t base = 0; base < o.width; base += gradThreads) {
    int64_t j = base + threadIdx.x, done = 0; // summed chunks that are closed
    A levels[mostSumTreeLevels + 1], sum = 0;
    int height = 0;
    auto close = [&](int64_t until) {
      for (; done < until; ++done) {
        levels[height++] = sum;
        sum = A(0);
        for (int64_t carry = done; carry & 1; carry >>= 1, --height)
          levels[height - 2] += levels[height - 1];
      }
    };
    forTokensOfRow(o.ids, token, o.tokens, [&](int64_t t) {
      int64_t chunk = t / o.chunk - o.first;
      if (chunk < 0 || chunk >= o.count)
        return;
      close(chunk);
      if (j < o.width)
        sum += load(o.dy[t * o.width + j]);
    });
    close(o.count);
    for (; height > 1; --height)
      levels[height - 2] += levels[height - 1];
    if (j < o.width)
      o.dtable[row * o.width + j] += levels[0];
  }
}

KernelStatus embeddingGrad(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &dy = call.inputs[1], &dtable = call.outputs[0];
  int64_t chunks = call.attributes->integer("chunks");
  return forRealType(dy.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    constexpr int vector = vectorOf<T>;
    EmbeddingGradOperands<T> o{ids.as<int32_t>(),
                               dy.as<T>(),
                               dtable.as<A>(),
                               ids.elements(),
                               dtable.dim(0),
                               dtable.dim(1),
                               call.attributes->integer("vocab_offset"),
                               ids.elements() / std::max<int64_t>(chunks, 1)};
    ChunkRange range = ChunkRange::of(*call.attributes);
    o.first = range.first, o.count = range.count;
    Launches launches;
    if (!call.accumulates(0)) {
      int64_t blocks = std::min<int64_t>(ceilDiv(dtable.elements(), gradThreads), 65536);
      launches.then(LaunchShape(unsigned(blocks), gradThreads), clearRows<A>, o.dtable, dtable.elements());
    }
    LaunchShape shape(unsigned(o.tokens), gradThreads);
    if (chunks > 0)
      launches.then(shape, addTokensInTree<T>, o);
    else if (o.width % vector == 0 && areAligned(o.dy, o.dtable))
      launches.then(shape, addTokens<T, vector>, o);
    else
      launches.then(shape, addTokens<T, 1>, o);
    return launches;
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
