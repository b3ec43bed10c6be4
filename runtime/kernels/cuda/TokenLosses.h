//===- TokenLosses.h - losses of tokens, their sum and gradient -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the loss of whole rows of logits (CrossEntropy.cu) and that of the statistics of all
// parts of a vocabulary (VocabularyParallelLoss.cu) have in common: both write a loss in f64 a
// token, which one block adds up, and both may write the row's gradient with it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_TOKENLOSSES_H
#define TGPT_RUNTIME_KERNELS_CUDA_TOKENLOSSES_H

#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/RowSoftmax.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

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

template <typename T> struct LossGradOperands {
  const T *logits;
  const int32_t *labels;
  const AccumulatorOf<T> *dloss;
  T *dlogits;
  int64_t width, real, offset;
  double smoothing, zLoss, vocabulary;

  LossGradOperands(const TensorView &logits, const TensorView &labels, const TensorView &dloss,
                   const TensorView &dlogits, const Attributes &attributes)
      : logits(logits.as<T>()), labels(labels.as<int32_t>()), dloss(dloss.as<AccumulatorOf<T>>()),
        dlogits(dlogits.as<T>()), width(logits.dim(-1)), real(realColumns(attributes, width)),
        offset(attributes.integer("vocab_offset")), smoothing(attributes.real("label_smoothing")),
        zLoss(attributes.real("z_loss")), vocabulary(double(attributes.integer("vocabulary", width))) {}
};

/// Writes a token's row of dlogits. A thread reads an element before it writes one there.
template <int V, typename T>
__device__ void writeGrad(const LossGradOperands<T> &o, int64_t token, AccumulatorOf<T> lse) {
  using A = AccumulatorOf<T>;
  int64_t label = o.labels[token], local = label < 0 ? -1 : label - o.offset;
  A dloss = *o.dloss, weight = A(1) + A(2 * o.zLoss) * lse;
  A uniform = A(o.smoothing / o.vocabulary), ownTarget = A(1 - o.smoothing) + uniform;
  for (int64_t j = int64_t(threadIdx.x) * V; j < o.width; j += lossThreads * V) {
    Pack<T, V> in = loadPack<V>(o.logits + token * o.width + j), out;
    TGPT_UNROLL
    for (int k = 0; k < V; ++k) {
      A p = weight * std::exp(load(in.at[k]) - lse), target = j + k == local ? ownTarget : uniform;
      bool isZero = label < 0 || j + k >= o.real;
      out.at[k] = store<T>(isZero ? A(0) : dloss * (p - target));
    }
    storePack(o.dlogits + token * o.width + j, out);
  }
}

/// Of the chunks of `range`, each of `tokens` tokens: the losses of a chunk in f64, rounded to A,
/// the chunks in the tree; and the number of valid tokens.
template <typename A>
__global__ void __launch_bounds__(lossThreads)
    addLosses(const double *loss, const int32_t *labels, ChunkRange range, int64_t tokens, A *sum, A *count) {
  int64_t valid = 0;
  A total = sumScalars<A>(range.count, [&](int64_t i) {
    int64_t begin = (range.first + i) * tokens;
    double own = 0;
    for (int64_t t = begin + threadIdx.x; t < begin + tokens; t += lossThreads)
      if (labels[t] >= 0) {
        own += loss[t];
        ++valid;
      }
    return A(sumOverBlock<lossThreads>(own));
  });
  valid = sumOverBlock<lossThreads>(valid);
  if (threadIdx.x == 0) {
    *sum = total;
    *count = A(valid);
  }
}

/// Adds up the losses of `tokens` tokens, or of the chunks of them that the call is to add up, to its first two
/// outputs.
template <typename A>
void launchAddLosses(Launches &launches, const KernelCall &call, const double *loss, const int32_t *labels,
                     int64_t tokens) {
  ChunkRange range = ChunkRange::of(*call.attributes);
  launches.then(LaunchShape(1, lossThreads), addLosses<A>, loss, labels, range, tokens / range.all,
                call.outputs[0].as<A>(), call.outputs[1].as<A>());
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_TOKENLOSSES_H
