//===- RowSoftmax.h - maximum and sum of exponentials of a row --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ROWSOFTMAX_H
#define TGPT_RUNTIME_KERNELS_CPU_ROWSOFTMAX_H

#include "runtime/kernels/api/Kernel.h"
#include "runtime/kernels/cpu/Arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tgpt::runtime::cpu::TGPT_ISA {

/// Columns of the logits held here that are no padding: those below `vocabulary`, counted over all ranks.
inline int64_t realColumns(const KernelCall &call) {
  int64_t v = call.inputs[0].dim(-1), offset = call.attributes->integer("vocab_offset");
  return std::clamp<int64_t>(call.attributes->integer("vocabulary", offset + v) - offset, 0, v);
}

/// max over j of row[j], minus infinity for n = 0. A NaN among others is passed over; the sum of
/// exponentials then carries it.
template <typename T> AccumulatorOf<T> maximumOf(const T *row, int64_t n) {
  using A = AccumulatorOf<T>;
  constexpr int64_t lanes = 64 / int64_t(sizeof(A));
  if (n == 0)
    return -std::numeric_limits<A>::infinity();
  A most[lanes];
  std::fill(most, most + lanes, A(load(row[0])));
  int64_t whole = n / lanes * lanes;
  for (int64_t j = 0; j < whole; j += lanes)
#pragma omp simd
    for (int64_t lane = 0; lane < lanes; ++lane) {
      A x = load(row[j + lane]);
      most[lane] = x > most[lane] ? x : most[lane];
    }
  for (int64_t j = whole; j < n; ++j)
    most[0] = load(row[j]) > most[0] ? load(row[j]) : most[0];
  for (int64_t lane = 1; lane < lanes; ++lane)
    most[0] = most[lane] > most[0] ? most[lane] : most[0];
  return most[0];
}

/// sum over j of exp(row[j] - shift).
template <typename T> AccumulatorOf<T> sumOfExponentials(const T *row, int64_t n, AccumulatorOf<T> shift) {
  AccumulatorOf<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j)
    sum += exponential(load(row[j]) - shift);
  return sum;
}

/// log sum exp of row[0, n); minus infinity where all of them are, or n = 0.
template <typename T> AccumulatorOf<T> logSumExp(const T *row, int64_t n) {
  using A = AccumulatorOf<T>;
  A most = maximumOf(row, n), shift = most == -std::numeric_limits<A>::infinity() ? A(0) : most;
  return shift + std::log(sumOfExponentials(row, n, shift));
}

/// sum over j of row[j].
template <typename T> AccumulatorOf<T> sumOf(const T *row, int64_t n) {
  AccumulatorOf<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j)
    sum += load(row[j]);
  return sum;
}

/// A token's loss: with e = label_smoothing and z = z_loss,
/// lse - (1-e) labelLogit - e meanLogit + z lse^2.
struct TokenLoss {
  explicit TokenLoss(const Attributes &attributes)
      : smoothing(attributes.real("label_smoothing")), zLoss(attributes.real("z_loss")) {}
  double operator()(double lse, double labelLogit, double meanLogit) const {
    double regularizer = zLoss == 0 ? 0 : zLoss * lse * lse;
    return lse - (1 - smoothing) * labelLogit - smoothing * meanLogit + regularizer;
  }
  double smoothing, zLoss;
};

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_ROWSOFTMAX_H
