//===- RowSoftmax.h - maxima and sums over a row of logits ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Columns of the logits held here that are no padding: those below `vocabulary`, counted over all ranks.
inline int64_t realColumns(const KernelCall &call) {
  int64_t v = call.inputs[0].dim(-1), offset = call.attributes->integer("vocab_offset");
  return std::clamp<int64_t>(call.attributes->integer("vocabulary", offset + v) - offset, 0, v);
}

/// body(element) for this thread's share of row[0, n), V at a time, the last ones one by one.
template <int V, typename T, typename Body> __device__ __forceinline__ void forRow(const T *row, int64_t n, Body body) {
  for (int64_t j = int64_t(threadIdx.x) * V; j < n; j += lossThreads * V) {
    if (j + V <= n) {
      Pack<T, V> in = loadPack<V>(row + j);
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        body(load(in.at[k]));
    } else {
      for (int64_t i = j; i < n; ++i)
        body(load(row[i]));
    }
  }
}

/// max over j of row[j], minus infinity for n = 0. A NaN among others is passed over; the
/// sum of exponentials then carries it.
template <int V, typename T> __device__ AccumulatorOf<T> maximumOf(const T *row, int64_t n) {
  using A = AccumulatorOf<T>;
  A most = A(-std::numeric_limits<A>::infinity());
  forRow<V>(row, n, [&](A x) { most = x > most ? x : most; });
  return reduceBlock<lossThreads>(most, A(-std::numeric_limits<A>::infinity()), Maximum());
}

/// sum over j of exp(row[j] - shift).
template <int V, typename T>
__device__ AccumulatorOf<T> sumOfExponentials(const T *row, int64_t n, AccumulatorOf<T> shift) {
  using A = AccumulatorOf<T>;
  A sum = 0;
  forRow<V>(row, n, [&](A x) { sum += std::exp(x - shift); });
  return sumOverBlock<lossThreads>(sum);
}

/// sum over j of row[j].
template <int V, typename T> __device__ AccumulatorOf<T> sumOf(const T *row, int64_t n) {
  using A = AccumulatorOf<T>;
  A sum = 0;
  forRow<V>(row, n, [&](A x) { sum += x; });
  return sumOverBlock<lossThreads>(sum);
}

/// A token's loss: with e = label_smoothing and z = z_loss,
/// lse - (1-e) labelLogit - e meanLogit + z lse^2.
struct TokenLoss {
  explicit TokenLoss(const Attributes &attributes)
      : smoothing(attributes.real("label_smoothing")), zLoss(attributes.real("z_loss")) {}
  __device__ double operator()(double lse, double labelLogit, double meanLogit) const {
    double regularizer = zLoss == 0 ? 0 : zLoss * lse * lse;
    return lse - (1 - smoothing) * labelLogit - smoothing * meanLogit + regularizer;
  }
  double smoothing, zLoss;
};

/// Whether rows of `width` elements from `logits` on may be read in vectors.
template <typename T> bool rowsAreAligned(const T *logits, int64_t width) {
  return width % vectorOf<T> == 0 && areAligned(logits);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ROWSOFTMAX_H
