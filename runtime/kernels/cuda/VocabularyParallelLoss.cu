//===- VocabularyParallelLoss.cu - loss over ranks --------------*- C++ -*-===//
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
// logits T[tokens,v], labels i32[tokens], all else A. A block has a row, or a part of the
// tokens; each reads the logits once: 85% of the memory's bandwidth expected, softmax_sums
// 75%. Tokens are added in f64. With attribute `chunks` the columns (of token_loss: the
// tokens) are summed in so many equal parts, and these, in A, in a tree.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/RowSoftmax.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

template <typename T> struct RowOperands {
  const T *logits;
  const int32_t *labels;
  const AccumulatorOf<T> *most;
  AccumulatorOf<T> *sum, *labelLogit;
  int64_t width, real, offset, chunks; ///< of all columns
  int64_t first, count;                ///< chunks that are summed
  double vocabulary;

  /// Where chunk `i` begins.
  __device__ int64_t at(int64_t i) const { return i * (width / chunks); }

  /// Columns of chunk `i` that are no padding.
  __device__ int64_t realOf(int64_t i) const {
    int64_t chunk = width / chunks, left = real - i * chunk;
    return left < 0 ? 0 : left < chunk ? left : chunk;
  }
};

template <typename T, int V> __global__ void __launch_bounds__(lossThreads) maximumOfRow(RowOperands<T> o) {
  AccumulatorOf<T> most = maximumOf<V>(o.logits + blockIdx.x * o.width, o.real);
  if (threadIdx.x == 0)
    o.sum[blockIdx.x] = most;
}

template <typename T, int V> __global__ void __launch_bounds__(lossThreads, 4) meanOfRow(RowOperands<T> o) {
  using A = AccumulatorOf<T>;
  const T *row = o.logits + blockIdx.x * o.width;
  A mean = sumScalars<A>(
      o.count, [&](int64_t i) { return sumOf<V>(row + o.at(o.first + i), o.realOf(o.first + i)) / A(o.vocabulary); });
  if (threadIdx.x == 0)
    o.sum[blockIdx.x] = mean;
}

template <typename T, int V> __global__ void __launch_bounds__(lossThreads, 2) softmaxSumsOfRow(RowOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t token = blockIdx.x, label = o.labels[token], local = label - o.offset;
  const T *row = o.logits + token * o.width;
  A shift = o.most[token], sum = sumScalars<A>(o.count, [&](int64_t i) {
                             return sumOfExponentials<V>(row + o.at(o.first + i), o.realOf(o.first + i), shift);
                           });
  if (threadIdx.x != 0)
    return;
  o.sum[token] = sum;
  bool isHere = local >= o.at(o.first) && local < o.at(o.first + o.count) && local < o.real;
  o.labelLogit[token] = label >= 0 && isHere ? A(load(row[local])) : A(0);
}

/// The operands that all three have.
template <typename T> static RowOperands<T> rowOperands(const KernelCall &call) {
  RowOperands<T> o{};
  o.logits = call.inputs[0].as<T>(), o.sum = call.outputs[0].as<AccumulatorOf<T>>();
  o.width = call.inputs[0].dim(-1), o.real = realColumns(call);
  o.offset = call.attributes->integer("vocab_offset");
  ChunkRange range = ChunkRange::of(*call.attributes);
  o.chunks = range.all, o.first = range.first, o.count = range.count;
  o.vocabulary = double(call.attributes->integer("vocabulary"));
  return o;
}

/// A chunk begins at a multiple of a vector.
template <typename T> static bool chunksAreAligned(const RowOperands<T> &o) {
  return rowsAreAligned(o.logits, o.width) && o.width / o.chunks % vectorOf<T> == 0;
}

KernelStatus rowMax(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    RowOperands<T> o = rowOperands<T>(call);
    LaunchShape shape(unsigned(call.inputs[0].rows()), lossThreads);
    return chunksAreAligned(o) ? launch(shape, maximumOfRow<T, vectorOf<T>>, o) : launch(shape, maximumOfRow<T, 1>, o);
  });
}

KernelStatus rowMean(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    RowOperands<T> o = rowOperands<T>(call);
    LaunchShape shape(unsigned(call.inputs[0].rows()), lossThreads);
    return chunksAreAligned(o) ? launch(shape, meanOfRow<T, vectorOf<T>>, o) : launch(shape, meanOfRow<T, 1>, o);
  });
}

KernelStatus softmaxSums(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    RowOperands<T> o = rowOperands<T>(call);
    o.labels = call.inputs[1].as<int32_t>(), o.most = call.inputs[2].as<AccumulatorOf<T>>();
    o.labelLogit = call.outputs[1].as<AccumulatorOf<T>>();
    LaunchShape shape(unsigned(call.inputs[0].rows()), lossThreads);
    return chunksAreAligned(o) ? launch(shape, softmaxSumsOfRow<T, vectorOf<T>>, o)
                               : launch(shape, softmaxSumsOfRow<T, 1>, o);
  });
}

template <typename A> struct TokenLossOperands {
  const int32_t *labels;
  const A *most, *sum, *labelLogit, *meanLogit;
  A *lse;
  double *partLoss;
  int64_t *partCount;
  int64_t tokens, perPart;
  TokenLoss lossOf;
};

template <typename A> __global__ void __launch_bounds__(lossThreads) lossOfPart(TokenLossOperands<A> o) {
  int64_t part = blockIdx.x, begin = part * o.perPart;
  int64_t end = begin + o.perPart < o.tokens ? begin + o.perPart : o.tokens, valid = 0;
  double loss = 0;
  for (int64_t t = begin + threadIdx.x; t < end; t += lossThreads) {
    A lse = o.most[t] + std::log(o.sum[t]);
    o.lse[t] = lse;
    if (o.labels[t] < 0)
      continue;
    loss += o.lossOf(lse, o.labelLogit[t], o.meanLogit ? double(o.meanLogit[t]) : 0);
    ++valid;
  }
  loss = sumOverBlock<lossThreads>(loss);
  valid = sumOverBlock<lossThreads>(valid);
  if (threadIdx.x == 0) {
    o.partLoss[part] = loss;
    o.partCount[part] = valid;
  }
}

/// One thread adds the parts: in f64, or each rounded to A and in a tree.
template <typename A, typename Sum>
__global__ void addLossParts(const double *loss, const int64_t *count, int64_t parts, A *lossSum, A *countSum) {
  *lossSum = A(sumScalars<Sum>(parts, [&](int64_t i) { return Sum(loss[i]); }));
  int64_t valid = 0;
  for (int64_t i = 0; i < parts; ++i)
    valid += count[i];
  *countSum = A(valid);
}

/// Chunks, or parts of at least 1024 tokens.
static int64_t lossParts(const KernelCall &call) {
  int64_t chunks = call.attributes->integer("chunks");
  return chunks > 0 ? chunks : cost::lossParts(call.inputs[0].elements());
}

size_t tokenLossWorkspace(const KernelCall &call) {
  return size_t(cost::tokenLossWorkspace(call.inputs[0].elements(), call.attributes->integer("chunks")));
}

KernelStatus tokenLoss(const KernelCall &call) {
  int64_t parts = lossParts(call), tokens = call.inputs[0].elements();
  Scratch scratch;
  double *partLoss = scratch.take<double>(parts);
  int64_t *partCount = scratch.take<int64_t>(parts);
  if (!partCount)
    return {workspaceTooSmall};
  return forAccumulatorType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    auto in = [&](size_t i) { return call.inputs[i].as<A>(); };
    TokenLossOperands<A> o{
        call.inputs[0].as<int32_t>(), in(1),    in(2),     in(3),  call.inputs.size() > 4 ? in(4) : nullptr,
        call.outputs[2].as<A>(),      partLoss, partCount, tokens, ceilDiv(tokens, parts),
        TokenLoss(*call.attributes)};
    Launches launches;
    launches.then(LaunchShape(unsigned(parts), lossThreads), lossOfPart<A>, o);
    bool inTree = call.attributes->integer("chunks") > 0;
    ChunkRange range = inTree ? ChunkRange::of(*call.attributes) : ChunkRange{0, parts, parts};
    partLoss += range.first, partCount += range.first, parts = range.count;
    A *sum = call.outputs[0].as<A>(), *count = call.outputs[1].as<A>();
    inTree ? launches.then(LaunchShape(1, 1), addLossParts<A, A>, partLoss, partCount, parts, sum, count)
           : launches.then(LaunchShape(1, 1), addLossParts<A, double>, partLoss, partCount, parts, sum, count);
    return launches;
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
