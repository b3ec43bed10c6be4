//===- VocabularyParallelLoss.cpp - cross-entropy over a sharded vocabulary -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between these kernels the ranks that share a vocabulary gather the statistics of its parts.
// loss_statistics: of each part of the columns held here
//                  0  log sum exp(logits), minus infinity where all are padding
//                  1  logits[label] where that column is in the part, else 0
//                  2  sum of the logits / vocabulary, where labels are smoothed
// token_loss:      lse = log sum over parts of exp(0), label's and mean logit = sum over parts
//                  of 1 and 2; loss_sum, count over valid tokens as in cross_entropy
// logits T[tokens,v], labels i32[tokens], statistics A[parts,2 or 3,tokens], all else A. Columns
// from `vocabulary` on are padding, left out of all. One thread has a row, and reads a part again
// while it is in the cache: one read of memory. Parts are added in their order in A, the tokens
// in order in f64: the same bits on any number of threads. With attribute `chunks` the tokens are
// summed in so many equal parts, and these, in A, in a tree.
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

KernelStatus lossStatistics(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &statistics = call.outputs[0];
  const int32_t *labels = call.inputs[1].as<int32_t>();
  int64_t tokens = logits.rows(), v = logits.dim(-1), real = realColumns(call);
  int64_t parts = statistics.dim(0), kinds = statistics.dim(1), columns = v / parts;
  int64_t offset = call.attributes->integer("vocab_offset"), vocabulary = call.attributes->integer("vocabulary");
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    forChunks(tokens, rowsPerChunk(v), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        for (int64_t part = 0; part < parts; ++part) {
          int64_t first = part * columns, n = std::clamp<int64_t>(real - first, 0, columns);
          int64_t column = labels[t] - offset - first;
          const T *row = logits.as<T>() + t * v + first;
          A *to = statistics.as<A>() + part * kinds * tokens + t;
          to[0] = logSumExp(row, n);
          to[tokens] = column >= 0 && column < n ? A(load(row[column])) : A(0);
          if (kinds == 3)
            to[2 * tokens] = sumOf(row, n) / A(vocabulary);
        }
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

/// One statistic of each part of a token, `stride` elements apart.
template <typename A> struct PartStatistic {
  const A *first;
  int64_t parts, stride;

  A sum() const {
    A sum = 0;
    for (int64_t part = 0; part < parts; ++part)
      sum += first[part * stride];
    return sum;
  }

  /// log sum exp of them; minus infinity where all are.
  A logSumExp() const {
    constexpr A least = -std::numeric_limits<A>::infinity();
    A most = least, sum = 0;
    for (int64_t part = 0; part < parts; ++part)
      most = first[part * stride] > most ? first[part * stride] : most;
    A shift = most == least ? A(0) : most;
    for (int64_t part = 0; part < parts; ++part)
      sum += exponential(first[part * stride] - shift);
    return shift + std::log(sum);
  }
};

KernelStatus tokenLoss(const KernelCall &call) {
  const TensorView &statistics = call.inputs[1];
  int64_t tokens = call.inputs[0].elements(), parts = statistics.dim(0), kinds = statistics.dim(1);
  return forAccumulatorType(statistics.dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const int32_t *label = call.inputs[0].as<int32_t>();
    A *lse = call.outputs[2].as<A>();
    auto ofParts = [&](int64_t kind, int64_t t) {
      return PartStatistic<A>{statistics.as<A>() + kind * tokens + t, parts, kinds * tokens};
    };
    forChunks(tokens, rowsPerChunk(parts), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        lse[t] = ofParts(0, t).logSumExp();
    });
    TokenLoss lossOf(*call.attributes);
    int64_t valid = 0;
    *call.outputs[0].as<A>() = sumOfChunks<A>(call, tokens, [&](int64_t first, int64_t n) {
      double loss = 0;
      for (int64_t t = first; t < first + n; ++t) {
        if (label[t] < 0)
          continue;
        loss += lossOf(lse[t], ofParts(1, t).sum(), kinds == 3 ? double(ofParts(2, t).sum()) : 0);
        ++valid;
      }
      return A(loss);
    });
    *call.outputs[1].as<A>() = A(valid);
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
