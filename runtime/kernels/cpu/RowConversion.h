//===- RowConversion.h - rows of 16-bit elements to f32 and back ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Widening is exact; narrowing rounds to nearest, ties to even.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ROWCONVERSION_H
#define TGPT_RUNTIME_KERNELS_CPU_ROWCONVERSION_H

#include "runtime/kernels/cpu/Arithmetic.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace tgpt::runtime::cpu::TGPT_ISA {

template <typename T> static void widenRow(const T *from, float *to, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  if constexpr (std::is_same_v<T, Float16>)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
#endif
#pragma omp simd
  for (int64_t rest = i; rest < n; ++rest)
    to[rest] = load(from[rest]);
}

template <typename T> static void narrowRow(const float *from, T *to, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  if constexpr (std::is_same_v<T, Float16>)
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
#pragma omp simd
  for (int64_t rest = i; rest < n; ++rest)
    to[rest] = store<T>(from[rest]);
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_ROWCONVERSION_H
