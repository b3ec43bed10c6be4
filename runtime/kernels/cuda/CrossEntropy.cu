//===- CrossEntropy.cu - the loss, softmax fused ----------------*- C++ -*-===//
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
// dloss A[]. Sums of a row in A, of the tokens in f64, by one block. A block has a token.
//
// cross_entropy reads the row twice, the second time from the second-level cache: 1 element
// of memory traffic for each, 75% of the memory's bandwidth expected. cross_entropy_grad: 2
// elements, 85%. With dloss and dlogits behind its own operands cross_entropy does both
// (fusion/LossGradients.cpp): it reads the row three times, twice from that cache, and
// writes it: 2 elements for 3, 75%. That is where the cache holds the rows of the blocks at
// work, 4 of a multiprocessor in bf16: 53 MB for 50304 columns on 132 of them, an H100 has
// 50. What it does not hold comes from memory again: at worst 4 elements, alone or together.
// A token whose label is beyond the vocabulary raises a fault, and gets neither loss nor
// gradient.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Fault.h"
#include "runtime/kernels/cuda/RowSoftmax.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

template <typename T> struct LossOperands {
  const T *logits;
  const int32_t *labels;
  AccumulatorOf<T> *lse;
  double *loss; ///< of each token, 0 where it is ignored
  int64_t width, real;
  TokenLoss lossOf;
  int32_t *fault;
};

/// Writes a token's loss and its lse, which every thread gets.
template <int V, typename T> __device__ AccumulatorOf<T> takeLoss(const LossOperands<T> &o, int64_t token) {
  using A = AccumulatorOf<T>;
  int64_t label = o.labels[token];
  const T *row = o.logits + token * o.width;
  A ofLabel = threadIdx.x == 0 && label >= 0 && label < o.real ? A(load(row[label])) : A(0);
  A most = maximumOf<V>(row, o.real), lse = most + std::log(sumOfExponentials<V>(row, o.real, most));
  double mean = o.lossOf.smoothing != 0 ? double(sumOf<V>(row, o.real)) / double(o.real) : 0;
  if (threadIdx.x == 0) {
    if (label >= o.real)
      raise(o.fault, Fault::LabelBeyondVocabulary);
    else {
      o.lse[token] = lse;
      o.loss[token] = label < 0 ? 0 : o.lossOf(lse, ofLabel, mean);
    }
  }
  return lse;
}

template <typename T, int V> __global__ void __launch_bounds__(lossThreads, 4) lossOfToken(LossOperands<T> o) {
  takeLoss<V>(o, blockIdx.x);
}

template <typename T> struct LossGradOperands {
  const T *logits;
  const int32_t *labels;
  const AccumulatorOf<T> *lse, *dloss;
  T *dlogits;
  int64_t width, real, offset;
  double smoothing, zLoss, vocabulary;
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

template <typename T, int V> __global__ void __launch_bounds__(lossThreads, 4) gradOfToken(LossGradOperands<T> o) {
  writeGrad<V>(o, blockIdx.x, o.lse[blockIdx.x]);
}

template <typename T, int V>
__global__ void __launch_bounds__(lossThreads, 4) lossAndGradOfToken(LossOperands<T> loss, LossGradOperands<T> grad) {
  AccumulatorOf<T> lse = takeLoss<V>(loss, blockIdx.x); // the block has met: nobody reads the row for the loss any more
  if (loss.labels[blockIdx.x] < loss.real)
    writeGrad<V>(grad, blockIdx.x, lse);
}

/// Operands of cross_entropy_grad, or of the gradient that cross_entropy takes along.
template <typename T>
static LossGradOperands<T> gradOperands(const KernelCall &call, const AccumulatorOf<T> *lse, const TensorView &dloss,
                                        const TensorView &dlogits) {
  const TensorView &logits = call.inputs[0];
  const Attributes &attributes = *call.attributes;
  return {logits.as<T>(),
          call.inputs[1].as<int32_t>(),
          lse,
          dloss.as<AccumulatorOf<T>>(),
          dlogits.as<T>(),
          logits.dim(-1),
          realColumns(call),
          attributes.integer("vocab_offset"),
          attributes.real("label_smoothing"),
          attributes.real("z_loss"),
          double(attributes.integer("vocabulary", logits.dim(-1)))};
}

template <typename A>
__global__ void __launch_bounds__(lossThreads)
    addLosses(const double *loss, const int32_t *labels, int64_t tokens, A *sum, A *count) {
  double own = 0;
  int64_t valid = 0;
  for (int64_t t = threadIdx.x; t < tokens; t += lossThreads)
    if (labels[t] >= 0) {
      own += loss[t];
      ++valid;
    }
  own = sumOverBlock<lossThreads>(own);
  valid = sumOverBlock<lossThreads>(valid);
  if (threadIdx.x == 0) {
    *sum = A(own);
    *count = A(valid);
  }
}

template <typename T> static void launchLoss(Launches &launches, const LaunchShape &shape, const LossOperands<T> &o) {
  rowsAreAligned(o.logits, o.width) ? launches.then(shape, lossOfToken<T, vectorOf<T>>, o)
                                    : launches.then(shape, lossOfToken<T, 1>, o);
}

/// One after the other where dlogits alone has no room for vectors: the order of the sums is that of the loss alone.
template <typename T>
static void launchBoth(Launches &launches, const LaunchShape &shape, const LossOperands<T> &loss,
                       const LossGradOperands<T> &grad) {
  if (!rowsAreAligned(loss.logits, loss.width))
    launches.then(shape, lossAndGradOfToken<T, 1>, loss, grad);
  else if (areAligned(grad.dlogits))
    launches.then(shape, lossAndGradOfToken<T, vectorOf<T>>, loss, grad);
  else
    launchLoss(launches, shape, loss), launches.then(shape, gradOfToken<T, 1>, grad);
}

size_t crossEntropyWorkspace(const KernelCall &call) {
  return size_t(cost::crossEntropyWorkspace(call.inputs[0].rows()));
}

KernelStatus crossEntropy(const KernelCall &call) {
  const TensorView &logits = call.inputs[0];
  int64_t tokens = logits.rows();
  double *loss = Scratch().take<double>(tokens);
  if (!loss)
    return {workspaceTooSmall};
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    LossOperands<T> o{logits.as<T>(),
                      call.inputs[1].as<int32_t>(),
                      call.outputs[2].as<A>(),
                      loss,
                      logits.dim(-1),
                      realColumns(call),
                      TokenLoss(*call.attributes),
                      queue().fault};
    LaunchShape shape(unsigned(tokens), lossThreads);
    Launches launches;
    if (call.outputs.size() > 3)
      launchBoth<T>(launches, shape, o, gradOperands<T>(call, o.lse, call.inputs[2], call.outputs[3]));
    else
      launchLoss<T>(launches, shape, o);
    launches.then(LaunchShape(1, lossThreads), addLosses<A>, loss, o.labels, tokens, call.outputs[0].as<A>(),
                  call.outputs[1].as<A>());
    return launches;
  });
}

KernelStatus crossEntropyGrad(const KernelCall &call) {
  const TensorView &logits = call.inputs[0];
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    LossGradOperands<T> o =
        gradOperands<T>(call, call.inputs[2].as<AccumulatorOf<T>>(), call.inputs[3], call.outputs[0]);
    LaunchShape shape(unsigned(logits.rows()), lossThreads);
    bool aligned = rowsAreAligned(o.logits, o.width) && areAligned(o.dlogits);
    return aligned ? launch(shape, gradOfToken<T, vectorOf<T>>, o) : launch(shape, gradOfToken<T, 1>, o);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
