//===- Gelu.cpp - GELU (tanh approximation) and its gradient ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), written as
// y = x s with s = 1 / (1 + exp(-2u)): one exp, no tanh.
// dx = dy (s + x s (1 - s) 2 du/dx). All T[...], arithmetic in A; dx may be dy.
// No sums: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <numbers>

namespace tgpt::runtime::cpu::TGPT_ISA {

/// 2 sqrt(2/pi), and the factor of x^3.
template <typename A> static constexpr A twice = A(2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
template <typename A> static constexpr A cubic = A(0.044715);

/// s at x.
template <typename A> static inline A gate(A x) {
  return A(1) / (A(1) + exponential(-twice<A> * x * (A(1) + cubic<A> * x * x)));
}

/// dy/dx at x.
template <typename A> static inline A slope(A x) {
  A s = gate(x);
  return s + x * s * (A(1) - s) * twice<A> * (A(1) + 3 * cubic<A> * x * x);
}

template <typename T> static void geluRange(const T *x, T *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    y[i] = store<T>(load(x[i]) * gate(load(x[i])));
}

template <typename T> static void geluGradRange(const T *dy, const T *x, T *dx, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    dx[i] = store<T>(load(dy[i]) * slope(load(x[i])));
}

KernelStatus gelu(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *x = call.inputs[0].as<T>();
    T *y = call.outputs[0].as<T>();
    forChunks(call.inputs[0].elements(), chunkElements,
              [=](int64_t begin, int64_t end) { geluRange(x + begin, y + begin, end - begin); });
    return {};
  });
}

KernelStatus geluGrad(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *dy = call.inputs[0].as<T>(), *x = call.inputs[1].as<T>();
    T *dx = call.outputs[0].as<T>();
    forChunks(call.inputs[0].elements(), chunkElements,
              [=](int64_t begin, int64_t end) { geluGradRange(dy + begin, x + begin, dx + begin, end - begin); });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
