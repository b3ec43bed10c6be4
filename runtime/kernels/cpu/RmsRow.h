//===- RmsRow.h - RMS norm of one row and its gradient ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic that the norm of rows and that of heads share. A row is n elements.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_RMSROW_H
#define TGPT_RUNTIME_KERNELS_CPU_RMSROW_H

#include "runtime/kernels/cpu/Arithmetic.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// 1 / sqrt(mean(x^2) + epsilon).
template <typename T> static AccumulatorOf<T> rstdOfRow(const T *x, int64_t n, double epsilon) {
  using A = AccumulatorOf<T>;
  A squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < n; ++j)
    squares += load(x[j]) * load(x[j]);
  return A(1) / std::sqrt(squares / A(n) + A(epsilon));
}

/// y = x rstd w.
template <typename T> static void normRow(const T *x, const T *w, T *y, AccumulatorOf<T> rstd, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    y[j] = store<T>(load(x[j]) * rstd * load(w[j]));
}

/// dx of one row; adds the row's part to dw.
template <typename T, typename A>
static void gradRow(const T *dy, const T *x, const T *w, A rstd, T *dx, A *dw, int64_t n) {
  A dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t j = 0; j < n; ++j)
    dot += load(dy[j]) * load(w[j]) * load(x[j]);
  A slope = rstd * rstd * dot / A(n);
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    A xj = load(x[j]), dyj = load(dy[j]);
    dw[j] += dyj * xj * rstd;
    dx[j] = store<T>(rstd * (dyj * load(w[j]) - xj * slope));
  }
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_RMSROW_H
