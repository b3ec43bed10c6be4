//===- Gelu.cu - tanh GELU and its gradient ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x s with s = 1 / (1 + exp(-z)), z = 2 sqrt(2/pi) (x + 0.044715 x^3), which is
// 0.5 x (1 + tanh(z/2)). dx = dy (s + x s (1 - s) dz/dx). All T[n]; arithmetic in A.
// Memory: 2 and 3 elements moved for each computed; about 12 and 25 operations, so both
// should run at 90% of the memory's bandwidth. No sums: no order to fix.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// 2 sqrt(2/pi), and the coefficient of the cube.
inline constexpr double geluScale = 1.5957691216057308, geluCubic = 0.044715;

template <typename A> __device__ __forceinline__ A geluSigmoid(A x) {
  return A(1) / (A(1) + std::exp(A(-geluScale) * x * (A(1) + A(geluCubic) * x * x)));
}

namespace {
template <typename T> struct Gelu {
  const T *x;
  T *y;
  template <int N> __device__ void apply(int64_t i) const {
    Pack<T, N> in = loadPack<N>(x + i), out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      out.at[k] = store<T>(load(in.at[k]) * geluSigmoid(load(in.at[k])));
    storePack(y + i, out);
  }
};

template <typename T> struct GeluGrad {
  const T *dy, *x;
  T *dx;
  template <int N> __device__ void apply(int64_t i) const {
    using A = AccumulatorOf<T>;
    Pack<T, N> dys = loadPack<N>(dy + i), xs = loadPack<N>(x + i), out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k) {
      A v = load(xs.at[k]), s = geluSigmoid(v);
      A dz = A(geluScale) * (A(1) + A(3 * geluCubic) * v * v);
      out.at[k] = store<T>(load(dys.at[k]) * (s + v * s * (A(1) - s) * dz));
    }
    storePack(dx + i, out);
  }
};
} // namespace

KernelStatus gelu(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    Gelu<T> operation{call.inputs[0].as<T>(), call.outputs[0].as<T>()};
    return launchElements<vectorOf<T>>(operation, call.inputs[0].elements(), areAligned(operation.x, operation.y));
  });
}

KernelStatus geluGrad(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    GeluGrad<T> operation{call.inputs[0].as<T>(), call.inputs[1].as<T>(), call.outputs[0].as<T>()};
    return launchElements<vectorOf<T>>(operation, call.inputs[0].elements(),
                                       areAligned(operation.dy, operation.x, operation.dx));
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
