//===- VocabularyParallelLoss.cu - loss over ranks --------------*- C++ -*-===//
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
// from `vocabulary` on are padding, left out of all.
//
// A block has a row of logits and reads it once: 1 element of memory traffic for each, 75% of
// the memory's bandwidth expected. Parts are added in their order, the tokens by one block in f64;
// with attribute `chunks` the tokens are summed in so many equal parts, and these, in A, in a tree.
// With logits and dloss behind its inputs and dlogits behind its outputs token_loss takes
// cross_entropy_grad along (fusion/LossGradients.cpp): a block has a token, each of its threads
// merges the token's parts, and lse need not be read; dlogits may be logits.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/TokenLosses.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

template <typename T> struct StatisticsOperands {
  const T *logits;
  const int32_t *labels;
  AccumulatorOf<T> *statistics;
  int64_t tokens, width, real, offset, parts, kinds;
  double vocabulary;

  int64_t columns() const { return width / parts; }
};

template <typename T, int V>
__global__ void __launch_bounds__(lossThreads, 4) statisticsOfRow(StatisticsOperands<T> o, int64_t columns) {
  using A = AccumulatorOf<T>;
  int64_t token = blockIdx.x;
  for (int64_t part = 0; part < o.parts; ++part) {
    int64_t first = part * columns, left = o.real - first, n = left < 0 ? 0 : left < columns ? left : columns;
    const T *row = o.logits + token * o.width + first;
    RowSums<A> sums = sumsOf<V>(row, n, o.kinds == 3);
    if (threadIdx.x != 0)
      continue;
    int64_t column = o.labels[token] - o.offset - first;
    A *to = o.statistics + part * o.kinds * o.tokens + token;
    to[0] = sums.lse;
    to[o.tokens] = column >= 0 && column < n ? A(load(row[column])) : A(0);
    if (o.kinds == 3)
      to[2 * o.tokens] = sums.sum / A(o.vocabulary);
  }
}

KernelStatus lossStatistics(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &statistics = call.outputs[0];
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    int64_t width = logits.dim(-1);
    StatisticsOperands<T> o{logits.as<T>(),
                            call.inputs[1].as<int32_t>(),
                            statistics.as<AccumulatorOf<T>>(),
                            logits.rows(),
                            width,
                            realColumns(*call.attributes, width),
                            call.attributes->integer("vocab_offset"),
                            statistics.dim(0),
                            statistics.dim(1),
                            double(call.attributes->integer("vocabulary"))};
    LaunchShape shape(unsigned(o.tokens), lossThreads);
    bool aligned = rowsAreAligned(o.logits, o.width) && o.columns() % vectorOf<T> == 0; // so is each part
    return aligned ? launch(shape, statisticsOfRow<T, vectorOf<T>>, o, o.columns())
                   : launch(shape, statisticsOfRow<T, 1>, o, o.columns());
  });
}

/// The statistics of all parts, and what becomes of them.
template <typename A> struct MergeOperands {
  const A *statistics;
  const int32_t *labels;
  A *lse;
  double *loss; ///< of each token, 0 where it is ignored
  int64_t tokens, parts, kinds;
  TokenLoss lossOf;

  __device__ A at(int64_t kind, int64_t part, int64_t token) const {
    return statistics[(part * kinds + kind) * tokens + token];
  }
  __device__ A sumOf(int64_t kind, int64_t token) const {
    A sum = 0;
    for (int64_t part = 0; part < parts; ++part)
      sum += at(kind, part, token);
    return sum;
  }
  /// Minus infinity where those of all parts are.
  __device__ A lseOf(int64_t token) const {
    A most = minusInfinity<A>(), sum = 0;
    for (int64_t part = 0; part < parts; ++part)
      most = at(0, part, token) > most ? at(0, part, token) : most;
    A shift = shiftOf(most);
    for (int64_t part = 0; part < parts; ++part)
      sum += std::exp(at(0, part, token) - shift);
    return shift + A(std::log(sum));
  }
  __device__ void write(int64_t token, A lseOfToken) const {
    lse[token] = lseOfToken;
    double mean = kinds == 3 ? double(sumOf(2, token)) : 0;
    loss[token] = labels[token] < 0 ? 0 : lossOf(lseOfToken, sumOf(1, token), mean);
  }
};

template <typename A> __global__ void __launch_bounds__(lossThreads) mergeTokens(MergeOperands<A> o) {
  int64_t token = int64_t(blockIdx.x) * lossThreads + threadIdx.x;
  if (token < o.tokens)
    o.write(token, o.lseOf(token));
}

template <typename T, int V>
__global__ void __launch_bounds__(lossThreads, 4)
    mergeTokenWithGrad(MergeOperands<AccumulatorOf<T>> o, LossGradOperands<T> grad) {
  AccumulatorOf<T> lse = o.lseOf(blockIdx.x);
  if (threadIdx.x == 0)
    o.write(blockIdx.x, lse);
  writeGrad<V>(grad, blockIdx.x, lse);
}

template <typename T>
static void launchWithGrad(Launches &launches, const MergeOperands<AccumulatorOf<T>> &o,
                           const LossGradOperands<T> &grad) {
  LaunchShape shape(unsigned(o.tokens), lossThreads);
  rowsAreAligned(grad.logits, grad.width) && areAligned(grad.dlogits)
      ? launches.then(shape, mergeTokenWithGrad<T, vectorOf<T>>, o, grad)
      : launches.then(shape, mergeTokenWithGrad<T, 1>, o, grad);
}

size_t tokenLossWorkspace(const KernelCall &call) {
  return size_t(cost::tokenLossWorkspace(call.inputs[0].elements()));
}

KernelStatus tokenLoss(const KernelCall &call) {
  const TensorView &labels = call.inputs[0], &statistics = call.inputs[1];
  bool hasGrad = call.outputs.size() > 3;
  int64_t tokens = labels.elements();
  double *loss = Scratch().take<double>(tokens);
  if (!loss)
    return {workspaceTooSmall};
  return forRealType(hasGrad ? call.inputs[2].dtype : statistics.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    MergeOperands<A> o{statistics.as<A>(), labels.as<int32_t>(), call.outputs[2].as<A>(),    loss, tokens,
                       statistics.dim(0),  statistics.dim(1),    TokenLoss(*call.attributes)};
    Launches launches;
    if (hasGrad)
      launchWithGrad<T>(launches, o, {call.inputs[2], labels, call.inputs[3], call.outputs[3], *call.attributes});
    else
      launches.then(LaunchShape(unsigned(ceilDiv(tokens, lossThreads)), lossThreads), mergeTokens<A>, o);
    launchAddLosses<A>(launches, call, loss, o.labels, tokens);
    return launches;
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
