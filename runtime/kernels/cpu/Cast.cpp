//===- Cast.cpp - conversion of dtypes, and adding across dtypes *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cast:       y = x in the dtype of y, rounded once to nearest even. To i32: NaN
//             becomes 0, values beyond i32 its nearest end.
// accumulate: y += x, added in the wider of the two dtypes (at least f32).
// No sums over elements: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

static inline void convert(double from, double &to) {
  to = from;
}
static inline void convert(double from, float &to) {
  to = float(from);
}
static inline void convert(double from, BFloat16 &to) {
  to = toBFloat16(from);
}
static inline void convert(double from, Float16 &to) {
  to = toFloat16(from);
}
static inline void convert(float from, double &to) {
  to = from;
}
static inline void convert(float from, float &to) {
  to = from;
}
static inline void convert(float from, BFloat16 &to) {
  to = toBFloat16(from);
}
static inline void convert(float from, Float16 &to) {
  to = toFloat16(from);
}
static inline void convert(double from, int32_t &to) {
  double rounded = std::nearbyint(from);
  to = std::isnan(from) ? 0 : int32_t(std::min(std::max(rounded, double(INT32_MIN)), double(INT32_MAX)));
}
static inline void convert(float from, int32_t &to) {
  convert(double(from), to);
}
static inline double load(int32_t x) {
  return x;
}

template <typename Function> static KernelStatus forAnyType(DType dtype, Function &&function) {
  return dtype == DType::I32 ? function(int32_t{}) : forRealType(dtype, function);
}

template <typename From, typename To> static void convertRange(const From *from, To *to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    convert(load(from[i]), to[i]);
}

template <typename From, typename To> static void addRange(const From *from, To *to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    convert(load(to[i]) + load(from[i]), to[i]);
}

KernelStatus cast(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  return forAnyType(x.dtype, [&](auto zeroX) -> KernelStatus {
    return forAnyType(y.dtype, [&](auto zeroY) -> KernelStatus {
      const auto *from = x.as<decltype(zeroX)>();
      auto *to = y.as<decltype(zeroY)>();
      forChunks(x.elements(), chunkElements,
                [=](int64_t begin, int64_t end) { convertRange(from + begin, to + begin, end - begin); });
      return {};
    });
  });
}

KernelStatus accumulate(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  return forRealType(x.dtype, [&](auto zeroX) -> KernelStatus {
    return forRealType(y.dtype, [&](auto zeroY) -> KernelStatus {
      const auto *from = x.as<decltype(zeroX)>();
      auto *to = y.as<decltype(zeroY)>();
      forChunks(x.elements(), chunkElements,
                [=](int64_t begin, int64_t end) { addRange(from + begin, to + begin, end - begin); });
      return {};
    });
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
