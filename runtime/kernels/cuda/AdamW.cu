//===- AdamW.cu - the optimizer of a bucket of parameters -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g = grad scale; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
// p = p - lr (m/(1-b1^step) / (sqrt(v/(1-b2^step)) + eps) + weight_decay p).
// At step 0 nothing. Everything in A (the parameter is the master copy), in one pass;
// outputs may be inputs 0, 2 and 3. A call has a whole bucket: many parameters, one
// launch. Memory: 4 reads and 3 writes of A for each element; should run at 90% of the
// memory's bandwidth. What depends on the step alone is computed by every thread, once:
// the scalars are in device memory.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
template <typename A> struct AdamWOperands {
  const A *param, *grad, *moment1, *moment2, *scale, *rate, *step;
  A *newParam, *newMoment1, *newMoment2;
  double beta1, beta2, epsilon, decay;
  int64_t elements;
};

/// What does not depend on the element.
template <typename A> struct UpdateFactors {
  A scale, beta1, beta2, rest1, rest2, stride, correction2, epsilon, decay;
};
} // namespace

template <typename A> __device__ UpdateFactors<A> updateFactors(const AdamWOperands<A> &o) {
  double rate = *o.rate, step = *o.step;
  return {*o.scale,
          A(o.beta1),
          A(o.beta2),
          A(1 - o.beta1),
          A(1 - o.beta2),
          A(rate / (1 - std::pow(o.beta1, step))),
          A(1 / (1 - std::pow(o.beta2, step))),
          A(o.epsilon),
          A(rate * o.decay)};
}

template <int N, typename A>
__device__ void updateElements(const AdamWOperands<A> &o, const UpdateFactors<A> &f, bool isStep, int64_t i) {
  Pack<A, N> p = loadPack<N>(o.param + i), m = loadPack<N>(o.moment1 + i), v = loadPack<N>(o.moment2 + i);
  if (isStep) {
    Pack<A, N> grad = loadPack<N>(o.grad + i);
    TGPT_UNROLL
    for (int k = 0; k < N; ++k) {
      A g = grad.at[k] * f.scale;
      m.at[k] = f.beta1 * m.at[k] + f.rest1 * g;
      v.at[k] = f.beta2 * v.at[k] + f.rest2 * g * g;
      p.at[k] -= f.stride * m.at[k] / (std::sqrt(v.at[k] * f.correction2) + f.epsilon) + f.decay * p.at[k];
    }
  }
  storePack(o.newParam + i, p);
  storePack(o.newMoment1 + i, m);
  storePack(o.newMoment2 + i, v);
}

template <int N, typename A> __global__ void __launch_bounds__(elementThreads) update(AdamWOperands<A> o) {
  bool isStep = *o.step != A(0);
  UpdateFactors<A> factors{};
  if (isStep)
    factors = updateFactors(o);
  int64_t step = int64_t(gridDim.x) * elementThreads * N;
  for (int64_t i = (int64_t(blockIdx.x) * elementThreads + threadIdx.x) * N; i < o.elements; i += step) {
    if (i + N <= o.elements)
      updateElements<N>(o, factors, isStep, i);
    else
      for (int64_t j = i; j < o.elements; ++j)
        updateElements<1>(o, factors, isStep, j);
  }
}

KernelStatus adamW(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    auto in = [&](size_t i) { return call.inputs[i].as<A>(); };
    auto out = [&](size_t i) { return call.outputs[i].as<A>(); };
    AdamWOperands<A> o{in(0),
                       in(1),
                       in(2),
                       in(3),
                       in(4),
                       in(5),
                       in(6),
                       out(0),
                       out(1),
                       out(2),
                       attributes.real("beta1"),
                       attributes.real("beta2"),
                       attributes.real("epsilon"),
                       attributes.real("weight_decay"),
                       call.inputs[0].elements()};
    constexpr int vector = vectorOf<A>;
    constexpr int64_t mostBlocks = 2048; // so that few threads compute the powers
    int64_t blocks = std::min(ceilDiv(o.elements, int64_t(elementThreads) * vector), mostBlocks);
    LaunchShape shape(unsigned(blocks), elementThreads);
    bool aligned = areAligned(o.param, o.grad, o.moment1, o.moment2, o.newParam, o.newMoment1, o.newMoment2);
    return aligned ? launch(shape, update<vector, A>, o) : launch(shape, update<1, A>, o);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
