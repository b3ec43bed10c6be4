//===- AdamW.cpp - fused AdamW update ---------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g = grad scale; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
// p = p - lr (m/(1-b1^step) / (sqrt(v/(1-b2^step)) + eps) + weight_decay p).
// Everything in A, in one pass over memory; outputs may be inputs 0, 2 and 3.
// No sums: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus adamW(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  double b1 = attributes.real("beta1"), b2 = attributes.real("beta2");
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const A *param = call.inputs[0].as<A>(), *grad = call.inputs[1].as<A>();
    const A *moment1 = call.inputs[2].as<A>(), *moment2 = call.inputs[3].as<A>();
    A *newParam = call.outputs[0].as<A>(), *newMoment1 = call.outputs[1].as<A>(), *newMoment2 = call.outputs[2].as<A>();
    double rate = *call.inputs[5].as<A>(), step = *call.inputs[6].as<A>();
    const A scale = *call.inputs[4].as<A>(), beta1 = A(b1), beta2 = A(b2), rest1 = A(1 - b1), rest2 = A(1 - b2);
    const A stride = A(rate / (1 - std::pow(b1, step))), correction2 = A(1 / (1 - std::pow(b2, step)));
    const A epsilon = A(attributes.real("epsilon")), decay = A(rate * attributes.real("weight_decay"));
    forChunks(call.inputs[0].elements(), chunkElements, [&](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        A g = grad[i] * scale, p = param[i];
        A m = beta1 * moment1[i] + rest1 * g;
        A v = beta2 * moment2[i] + rest2 * g * g;
        newMoment1[i] = m;
        newMoment2[i] = v;
        newParam[i] = p - (stride * m / (std::sqrt(v * correction2) + epsilon) + decay * p);
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
