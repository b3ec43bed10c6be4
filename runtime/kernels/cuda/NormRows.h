//===- NormRows.h - how blocks share the rows of a norm ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward, a block has a row. Backward, a block has the rows of a part and adds their
// share of the weight's gradient to sums of its own, where a column belongs to one thread:
// in shared memory, or in the workspace where the row is too wide for that. The parts
// are then added in a tree.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_NORMROWS_H
#define TGPT_RUNTIME_KERNELS_CUDA_NORMROWS_H

#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Reduce.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// Threads of a block: a warp for heads and other short rows.
inline constexpr int narrowThreads = 32, wideThreads = 256;
using cost::mostNarrowWidth;

/// Which rows a part has. Of each sample, `parts` parts of rowsPerPart rows: runs of
/// `run` rows, `stride` apart.
struct PartRows {
  int64_t rows, width, samples, parts, rowsPerPart, run, stride;
  int64_t first = 0, summed = parts; ///< parts whose sums are added

  /// One sample of all rows, in parts chosen by the shape.
  static PartRows ofAll(int64_t rows, int64_t width) {
    cost::RowParts cut = cost::normGradParts(rows, width);
    return {rows, width, 1, cut.parts, cut.rowsPerPart, cut.rowsPerPart, cut.rowsPerPart};
  }
  /// Of each sample the chunks; a position has `heads` rows, which the parts share. The sums of some may be wanted.
  static PartRows ofChunks(int64_t rows, int64_t width, int64_t samples, ChunkRange chunks, int64_t heads) {
    int64_t rowsPerPart = rows / samples / chunks.all, run = heads == 1 ? rowsPerPart : heads / chunks.all;
    return {rows,         width,       samples, chunks.all, rowsPerPart, run, heads == 1 ? rowsPerPart : heads,
            chunks.first, chunks.count};
  }
  int64_t count() const { return samples * parts; }
  /// Row `i` of `part`; beyond `rows` where the last part is short.
  __host__ __device__ int64_t row(int64_t part, int64_t i) const {
    int64_t sample = part / parts, own = part % parts;
    return sample * parts * rowsPerPart + i / run * stride + own * run + i % run;
  }
};

/// Of a gradient whose input 1 is x and input 2 the weight w[width]; x has one or several rows of
/// `width` elements, its heads, a position. Attribute `chunks` cuts positions, or the heads.
inline PartRows partRowsOf(const KernelCall &call) {
  const TensorView &x = call.inputs[1];
  int64_t width = call.inputs[2].dim(0), rows = x.elements() / width;
  if (call.attributes->integer("chunks") == 0)
    return PartRows::ofAll(rows, width);
  return PartRows::ofChunks(rows, width, x.dim(0), ChunkRange::of(*call.attributes), x.dim(-1) / width);
}

/// Bytes of workspace for `vectors` sums of every part, which become output 1 and those behind it.
inline size_t partialBytes(const KernelCall &call, int64_t vectors) {
  const TensorView &x = call.inputs[1];
  int64_t width = call.inputs[2].dim(0);
  return size_t(cost::normGradWorkspace(vectors, x.elements() / width, width, x.dim(0),
                                        call.attributes->integer("chunks"),
                                        int64_t(sizeInBytes(call.outputs[1].dtype))));
}

/// body(j) for the columns of this thread, V at a time.
template <int V, int Threads, typename Body> __device__ __forceinline__ void forColumns(int64_t width, Body body) {
  for (int64_t j = int64_t(threadIdx.x) * V; j < width; j += Threads * V)
    body(j);
}

/// Bytes of shared memory for `vectors` sums of a row; 0 where they lie in the workspace.
template <typename A> size_t sharedSums(int64_t width, int64_t vectors) {
  constexpr size_t most = 96 << 10;
  size_t bytes = size_t((width + 3) / 4 * 4 * vectors) * sizeof(A);
  return bytes <= most ? bytes : 0;
}

/// Another tensor that a norm adds to what it reads, or to what it makes: its row `row % rows`; none where `data` is
/// null.
template <typename T> struct Addend {
  const T *data = nullptr;
  int64_t rows = 1;

  __device__ const T *at(int64_t row, int64_t width) const { return data ? data + row % rows * width : nullptr; }
};

/// Operand `input` of a call that has it: rows of the width of input 0.
template <typename T> Addend<T> addendOf(const KernelCall &call, size_t input) {
  if (call.inputs.size() <= input)
    return {};
  const TensorView &addend = call.inputs[input];
  return {addend.as<T>(), addend.elements() / call.inputs[0].dim(-1)};
}

/// a + b, rounded by itself: never one with the product that made an operand. As the kernel `add` does it.
__device__ __forceinline__ float addAlone(float a, float b) {
#ifdef __CUDACC__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
__device__ __forceinline__ double addAlone(double a, double b) {
#ifdef __CUDACC__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

/// What `add` makes of N elements.
template <typename T, int N> __device__ __forceinline__ Pack<T, N> sumOf(const Pack<T, N> &a, const Pack<T, N> &b) {
  Pack<T, N> sum;
  TGPT_UNROLL
  for (int k = 0; k < N; ++k)
    sum.at[k] = store<T>(addAlone(load(a.at[k]), load(b.at[k])));
  return sum;
}

/// x, or x + addend, which then goes to `sum` too.
template <int N, typename T>
__device__ __forceinline__ Pack<T, N> readSum(const T *x, const T *addend, T *sum, int64_t j) {
  Pack<T, N> in = loadPack<N>(x + j);
  if (addend) {
    in = sumOf(in, loadPack<N>(addend + j));
    storePack(sum + j, in);
  }
  return in;
}

/// Adds `more` to the sums at `at`.
template <int V, typename A> __device__ __forceinline__ void addTo(A *at, const Pack<A, V> &more) {
  Pack<A, V> sums = loadPack<V>(at);
  TGPT_UNROLL
  for (int k = 0; k < V; ++k)
    sums.at[k] += more.at[k];
  storePack(at, sums);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_NORMROWS_H
