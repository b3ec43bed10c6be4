//===- CrossEntropy.cpp - softmax cross-entropy and its gradient *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lse = log sum exp(logits). With e = label_smoothing, z = z_loss, V = vocabulary:
// loss_sum = sum over valid tokens of lse - (1-e) logits[label] - e mean(logits) + z lse^2.
// dlogits = dloss ((1 + 2 z lse) exp(logits - lse) - (1-e) [label] - e/V), 0 for an
// ignored token; the probabilities are never stored; dlogits may be logits. Columns
// from V on are padding: left out of all sums, and of dlogits 0.
// logits, dlogits T[tokens,v], labels i32[tokens], lse A[tokens], loss_sum, count,
// dloss A[]. A row is summed by one thread in A, the tokens in order in f64: the
// same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/RowSoftmax.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus crossEntropy(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  int64_t v = logits.dim(-1), real = realColumns(call), tokens = logits.rows();
  const int32_t *label = labels.as<int32_t>();
  for (int64_t t = 0; t < tokens; ++t)
    if (label[t] >= real)
      return {"cross_entropy: a label is not below the vocabulary size"};
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const T *row = logits.as<T>();
    A *lse = call.outputs[2].as<A>();
    forChunks(tokens, rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        lse[t] = logSumExp(row + t * v, real);
    });
    TokenLoss lossOf(*call.attributes);
    double loss = 0, count = 0;
    for (int64_t t = 0; t < tokens; ++t) {
      if (label[t] < 0)
        continue;
      double mean = lossOf.smoothing != 0 ? double(sumOf(row + t * v, real)) / double(real) : 0;
      loss += lossOf(lse[t], load(row[t * v + label[t]]), mean);
      count += 1;
    }
    *call.outputs[0].as<A>() = A(loss);
    *call.outputs[1].as<A>() = A(count);
    return {};
  });
}

/// to = factor exp(row - lse) - shift.
template <typename T, typename A> static void scaledSoftmax(const T *row, T *to, int64_t n, A lse, A factor, A shift) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    to[j] = store<T>(factor * exponential(load(row[j]) - lse) - shift);
}

KernelStatus crossEntropyGrad(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  int64_t v = logits.dim(-1), real = realColumns(call), offset = call.attributes->integer("vocab_offset");
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    A dloss = *call.inputs[3].as<A>();
    double smoothing = call.attributes->real("label_smoothing"), zLoss = call.attributes->real("z_loss");
    A uniform = A(smoothing / double(call.attributes->integer("vocabulary", v))); // each column's share of the target
    A ownTarget = A(1 - smoothing) + uniform;
    forChunks(logits.rows(), rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t label = labels.as<int32_t>()[t], local = label - offset;
        const T *row = logits.as<T>() + t * v;
        T *to = call.outputs[0].as<T>() + t * v;
        if (label < 0) {
          std::fill(to, to + v, store<T>(A(0)));
          continue;
        }
        A lse = call.inputs[2].as<A>()[t];
        bool isLocal = local >= 0 && local < real;
        A weight = A(1) + A(2 * zLoss) * lse;
        A hit = isLocal ? dloss * (weight * exponential(A(load(row[local])) - lse) - ownTarget) : A(0);
        scaledSoftmax(row, to, real, lse, dloss * weight, dloss * uniform);
        if (isLocal)
          to[local] = store<T>(hit);
        std::fill(to + real, to + v, store<T>(A(0)));
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
