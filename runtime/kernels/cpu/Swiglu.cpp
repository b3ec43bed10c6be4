//===- Swiglu.cpp - SwiGLU and its gradient ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = gate s up with s = sigmoid(gate); dgate = dy up (s + gate s (1 - s)),
// dup = dy gate s. All T[...], arithmetic in A. No sums: the same bits on any
// number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

template <typename A> static inline A sigmoid(A x) {
  return A(1) / (A(1) + exponential(-x));
}

template <typename T> static void swigluRange(const T *gate, const T *up, T *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    y[i] = store<T>(load(gate[i]) * sigmoid(load(gate[i])) * load(up[i]));
}

template <typename T>
static void swigluGradRange(const T *dy, const T *gate, const T *up, T *dgate, T *dup, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    auto g = load(gate[i]), s = sigmoid(g), d = load(dy[i]), u = load(up[i]);
    dgate[i] = store<T>(d * u * (s + g * s * (1 - s)));
    dup[i] = store<T>(d * g * s);
  }
}

KernelStatus swiglu(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *gate = call.inputs[0].as<T>(), *up = call.inputs[1].as<T>();
    T *y = call.outputs[0].as<T>();
    forChunks(call.inputs[0].elements(), chunkElements,
              [=](int64_t begin, int64_t end) { swigluRange(gate + begin, up + begin, y + begin, end - begin); });
    return {};
  });
}

KernelStatus swigluGrad(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *dy = call.inputs[0].as<T>(), *gate = call.inputs[1].as<T>(), *up = call.inputs[2].as<T>();
    T *dgate = call.outputs[0].as<T>(), *dup = call.outputs[1].as<T>();
    forChunks(call.inputs[0].elements(), chunkElements, [=](int64_t begin, int64_t end) {
      swigluGradRange(dy + begin, gate + begin, up + begin, dgate + begin, dup + begin, end - begin);
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
