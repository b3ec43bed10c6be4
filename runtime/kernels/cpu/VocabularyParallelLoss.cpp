//===- VocabularyParallelLoss.cpp - cross-entropy over a sharded vocabulary -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between these kernels the ranks that share a vocabulary reduce max, sum_exp,
// label_logit and mean_logit. Columns from `vocabulary` on are padding, left out of all.
// row_max:      max = max over j of logits
// row_mean:     mean_logit = sum over the columns held here / vocabulary
// softmax_sums: sum_exp = sum exp(logits - max); label_logit = logits[label] where
//               that column is held here, else 0
// token_loss:   lse = max + log(sum_exp); loss_sum, count over valid tokens as in cross_entropy
// logits T[tokens,v], labels i32[tokens], all else A. A row is summed by one
// thread in A, the tokens in order in f64: the same bits on any number of threads.
// With attribute `chunks` the columns (of token_loss: the tokens) are summed in so many
// equal parts, and these, in A, in a tree.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/RowSoftmax.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus rowMax(const KernelCall &call) {
  const TensorView &logits = call.inputs[0];
  int64_t v = logits.dim(-1), real = realColumns(call);
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    forChunks(logits.rows(), rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        call.outputs[0].as<AccumulatorOf<T>>()[t] = maximumOf(logits.as<T>() + t * v, real);
    });
    return {};
  });
}

/// The sum of [0, n): as one, or with attribute `chunks` of those that the call adds up in a tree.
template <typename A, typename SumOfPart>
static A sumOfChunks(const KernelCall &call, int64_t n, const SumOfPart &sumOfPart) {
  ChunkRange range = ChunkRange::of(*call.attributes);
  int64_t chunk = n / range.all;
  return sumScalarsInTree<A>(range.count, [&](int64_t i) -> A { return sumOfPart((range.first + i) * chunk, chunk); });
}

/// Columns of [first, first + n) that are no padding.
static int64_t realOf(int64_t first, int64_t n, int64_t real) {
  return std::clamp<int64_t>(real - first, 0, n);
}

KernelStatus rowMean(const KernelCall &call) {
  const TensorView &logits = call.inputs[0];
  int64_t v = logits.dim(-1), real = realColumns(call), vocabulary = call.attributes->integer("vocabulary");
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    forChunks(logits.rows(), rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        call.outputs[0].as<A>()[t] = sumOfChunks<A>(call, v, [&](int64_t first, int64_t n) {
          return sumOf(logits.as<T>() + t * v + first, realOf(first, n, real)) / A(vocabulary);
        });
    });
    return {};
  });
}

KernelStatus softmaxSums(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  int64_t v = logits.dim(-1), real = realColumns(call), offset = call.attributes->integer("vocab_offset");
  ChunkRange range = ChunkRange::of(*call.attributes);
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    forChunks(logits.rows(), rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const T *row = logits.as<T>() + t * v;
        int64_t label = labels.as<int32_t>()[t], local = label - offset;
        bool isLocal = label >= 0 && local < real && range.holds(local, v);
        A shift = call.inputs[2].as<A>()[t];
        call.outputs[0].as<A>()[t] = sumOfChunks<A>(call, v, [&](int64_t first, int64_t n) {
          return sumOfExponentials(row + first, realOf(first, n, real), shift);
        });
        call.outputs[1].as<A>()[t] = isLocal ? A(load(row[local])) : A(0);
      }
    });
    return {};
  });
}

KernelStatus tokenLoss(const KernelCall &call) {
  return forAccumulatorType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const int32_t *label = call.inputs[0].as<int32_t>();
    const A *most = call.inputs[1].as<A>(), *sum = call.inputs[2].as<A>(), *labelLogit = call.inputs[3].as<A>();
    const A *meanLogit = call.inputs.size() > 4 ? call.inputs[4].as<A>() : nullptr;
    A *lse = call.outputs[2].as<A>();
    TokenLoss lossOf(*call.attributes);
    int64_t valid = 0;
    for (int64_t t = 0; t < call.inputs[0].elements(); ++t)
      lse[t] = most[t] + std::log(sum[t]);
    *call.outputs[0].as<A>() = sumOfChunks<A>(call, call.inputs[0].elements(), [&](int64_t first, int64_t n) {
      double loss = 0;
      for (int64_t t = first; t < first + n; ++t) {
        if (label[t] < 0)
          continue;
        loss += lossOf(lse[t], labelLogit[t], meanLogit ? double(meanLogit[t]) : 0);
        ++valid;
      }
      return A(loss);
    });
    *call.outputs[1].as<A>() = A(valid);
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
