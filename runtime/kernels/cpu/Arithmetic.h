//===- Arithmetic.h - storage types and exp, ready to vectorise -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything here is branch-free, so that loops over it vectorise.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ARITHMETIC_H
#define TGPT_RUNTIME_KERNELS_CPU_ARITHMETIC_H

#include "runtime/kernels/api/TypeDispatch.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tgpt::runtime::cpu::TGPT_ISA {

inline double load(double x) {
  return x;
}
inline float load(float x) {
  return x;
}
inline float load(BFloat16 x) {
  return toFloat(x);
}
inline float load(Float16 x) {
  return toFloat(x);
}

template <typename T> inline T store(AccumulatorOf<T> x) {
  return x;
}
template <> inline BFloat16 store<BFloat16>(float x) {
  return toBFloat16(x);
}
template <> inline Float16 store<Float16>(float x) {
  return toFloat16(x);
}

/// e^x. Relative error below 8.1e-8 (1.4 units in the last place) where e^x is
/// at least 2^-125; 0 below 2^-125.5, infinity above the largest f32, NaN for NaN.
/// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2, and a degree-5
/// polynomial for (e^r - 1 - r) / r^2.
inline float exponential(float x) {
  constexpr float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
  x = x < -87.5f ? -87.5f : x;
  x = x > 89.0f ? 89.0f : x;
  float shifted = x * 1.44269504f + shift;
  float n = shifted - shift;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // 2^(n-1), in two factors so that n = 128 overflows only where e^x does.
  uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(shift) + 126u;
  return p * std::bit_cast<float>(exponent << 23) * 2.0f;
}

inline double exponential(double x) {
  return std::exp(x);
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_ARITHMETIC_H
