//===- AdamW.cpp - fused AdamW update ---------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g = grad scale; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
// p = p - lr (m/(1-b1^step) / (sqrt(v/(1-b2^step)) + eps) + weight_decay p).
// At step 0 nothing. Everything in A, in one pass over memory; outputs may be inputs 0, 2 and 3.
// No sums: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <cstring>

namespace tgpt::runtime::cpu::TGPT_ISA {

namespace {
/// What does not depend on the element.
template <typename A> struct UpdateFactors {
  A scale, beta1, beta2, rest1, rest2, stride, correction2, epsilon, decay;
};
template <typename A> struct State {
  const A *param, *grad, *moment1, *moment2;
  A *newParam, *newMoment1, *newMoment2;
};
} // namespace

template <typename A> static void updateRange(State<A> at, UpdateFactors<A> f, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    A g = at.grad[i] * f.scale, p = at.param[i];
    A m = f.beta1 * at.moment1[i] + f.rest1 * g;
    A v = f.beta2 * at.moment2[i] + f.rest2 * g * g;
    at.newMoment1[i] = m;
    at.newMoment2[i] = v;
    at.newParam[i] = p - (f.stride * m / (std::sqrt(v * f.correction2) + f.epsilon) + f.decay * p);
  }
}

/// Step 0: parameter and moments as they are.
template <typename A> static void keepRange(State<A> at, int64_t begin, int64_t end) {
  size_t bytes = size_t(end - begin) * sizeof(A);
  std::memmove(at.newParam + begin, at.param + begin, bytes);
  std::memmove(at.newMoment1 + begin, at.moment1 + begin, bytes);
  std::memmove(at.newMoment2 + begin, at.moment2 + begin, bytes);
}

template <typename A> static UpdateFactors<A> factorsOf(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  double rate = *call.inputs[5].as<A>(), step = *call.inputs[6].as<A>();
  return {*call.inputs[4].as<A>(),
          A(beta1),
          A(beta2),
          A(1 - beta1),
          A(1 - beta2),
          A(rate / (1 - std::pow(beta1, step))),
          A(1 / (1 - std::pow(beta2, step))),
          A(attributes.real("epsilon")),
          A(rate * attributes.real("weight_decay"))};
}

KernelStatus adamW(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    State<A> state{call.inputs[0].as<A>(),  call.inputs[1].as<A>(),  call.inputs[2].as<A>(), call.inputs[3].as<A>(),
                   call.outputs[0].as<A>(), call.outputs[1].as<A>(), call.outputs[2].as<A>()};
    if (*call.inputs[6].as<A>() == 0) {
      forChunks(call.inputs[0].elements(), chunkElements,
                [=](int64_t begin, int64_t end) { keepRange(state, begin, end); });
      return {};
    }
    UpdateFactors<A> factors = factorsOf<A>(call);
    forChunks(call.inputs[0].elements(), chunkElements,
              [=](int64_t begin, int64_t end) { updateRange(state, factors, begin, end); });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
