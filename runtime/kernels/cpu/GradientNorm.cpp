//===- GradientNorm.cpp - gradient norm, clipping, and division of scalars ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum_squares: sum of x^2, squared and summed in f64;
//              chunks are added in order: the same bits on any
//              number of threads.
// clip_scale:  grad_norm = sqrt(norm_squared)/count;
//              scale = min(1, max_norm/(grad_norm + 1e-6))/count; both 0 where
//              count is 0 (no valid token: nothing to learn from).
// divide:      x/y, 0 where y is 0. Scalars, in f64.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// 64 sums at a time, so that the additions overlap.
template <typename A> static double sumOfSquares(const A *x, int64_t n) {
  constexpr int64_t lanes = 64;
  double sums[lanes] = {};
  int64_t whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes)
#pragma omp simd
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += double(x[i + lane]) * double(x[i + lane]);
  for (int64_t i = whole; i < n; ++i)
    sums[i - whole] += double(x[i]) * double(x[i]);
  for (int64_t lane = 1; lane < lanes; ++lane)
    sums[0] += sums[lane];
  return sums[0];
}

KernelStatus sumSquares(const KernelCall &call) {
  constexpr int64_t mostChunks = 256;
  int64_t n = call.inputs[0].elements(), chunk = std::max(chunkElements, chunkCount(n, mostChunks));
  double sums[mostChunks];
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const A *x = call.inputs[0].as<A>();
    forChunks(n, chunk,
              [&](int64_t begin, int64_t end) { sums[begin / chunk] = sumOfSquares(x + begin, end - begin); });
    double total = 0;
    for (int64_t i = 0; i < chunkCount(n, chunk); ++i)
      total += sums[i];
    *call.outputs[0].as<A>() = A(total);
    return {};
  });
}

KernelStatus clipScale(const KernelCall &call) {
  double maxNorm = call.attributes->real("max_norm");
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    double squared = *call.inputs[0].as<A>(), count = *call.inputs[1].as<A>(), norm = 0, scale = 0;
    if (count != 0) {
      norm = std::sqrt(squared) / count;
      scale = (maxNorm > 0 ? std::min(1.0, maxNorm / (norm + 1e-6)) : 1.0) / count;
    }
    *call.outputs[0].as<A>() = A(norm);
    *call.outputs[1].as<A>() = A(scale);
    return {};
  });
}

KernelStatus divide(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    double x = *call.inputs[0].as<A>(), y = *call.inputs[1].as<A>();
    *call.outputs[0].as<A>() = A(y == 0 ? 0 : x / y);
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
