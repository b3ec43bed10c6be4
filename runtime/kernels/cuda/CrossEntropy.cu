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
// cross_entropy reads the row once: 1 element of memory traffic for each, 75% of the memory's
// bandwidth expected. cross_entropy_grad: 2 elements, 85%. With dloss and dlogits behind its
// own operands cross_entropy does both (fusion/LossGradients.cpp): it reads the row twice, the
// second time from the second-level cache, and writes it: 2 elements for 3, 75%. That is where
// the cache holds the rows of the blocks at work, 4 of a multiprocessor in bf16: 53 MB for 50304
// columns on 132 of them, an H100 has 50. What it does not hold comes from memory again: at worst
// 3 elements, as apart.
// A token whose label is beyond the vocabulary raises a fault, and gets neither loss nor
// gradient.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Fault.h"
#include "runtime/kernels/cuda/TokenLosses.h"

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
  RowSums<A> sums = sumsOf<V>(row, o.real, o.lossOf.smoothing != 0);
  if (threadIdx.x == 0) {
    if (label >= o.real)
      raise(o.fault, Fault::LabelBeyondVocabulary);
    else {
      o.lse[token] = sums.lse;
      o.loss[token] = label < 0 ? 0 : o.lossOf(sums.lse, ofLabel, double(sums.sum) / double(o.real));
    }
  }
  return sums.lse;
}

template <typename T, int V> __global__ void __launch_bounds__(lossThreads, 4) lossOfToken(LossOperands<T> o) {
  takeLoss<V>(o, blockIdx.x);
}

template <typename T, int V>
__global__ void __launch_bounds__(lossThreads, 4) gradOfToken(LossGradOperands<T> o, const AccumulatorOf<T> *lse) {
  writeGrad<V>(o, blockIdx.x, lse[blockIdx.x]);
}

template <typename T, int V>
__global__ void __launch_bounds__(lossThreads, 4) lossAndGradOfToken(LossOperands<T> loss, LossGradOperands<T> grad) {
  AccumulatorOf<T> lse = takeLoss<V>(loss, blockIdx.x); // the block has met: nobody reads the row for the loss any more
  if (loss.labels[blockIdx.x] < loss.real)
    writeGrad<V>(grad, blockIdx.x, lse);
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
    launchLoss(launches, shape, loss), launches.then(shape, gradOfToken<T, 1>, grad, loss.lse);
}

size_t crossEntropyWorkspace(const KernelCall &call) {
  return size_t(cost::tokenLossWorkspace(call.inputs[0].rows()));
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
                      realColumns(*call.attributes, logits.dim(-1)),
                      TokenLoss(*call.attributes),
                      queue().fault};
    LaunchShape shape(unsigned(tokens), lossThreads);
    Launches launches;
    if (call.outputs.size() > 3)
      launchBoth<T>(launches, shape, o,
                    LossGradOperands<T>(logits, call.inputs[1], call.inputs[2], call.outputs[3], *call.attributes));
    else
      launchLoss<T>(launches, shape, o);
    launchAddLosses<A>(launches, call, loss, o.labels, tokens);
    return launches;
  });
}

KernelStatus crossEntropyGrad(const KernelCall &call) {
  const TensorView &logits = call.inputs[0];
  return forRealType(logits.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    LossGradOperands<T> o(logits, call.inputs[1], call.inputs[3], call.outputs[0], *call.attributes);
    const auto *lse = call.inputs[2].as<AccumulatorOf<T>>();
    LaunchShape shape(unsigned(logits.rows()), lossThreads);
    bool aligned = rowsAreAligned(o.logits, o.width) && areAligned(o.dlogits);
    return aligned ? launch(shape, gradOfToken<T, vectorOf<T>>, o, lse) : launch(shape, gradOfToken<T, 1>, o, lse);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
