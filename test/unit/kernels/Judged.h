//===- Judged.h - a case whose error is being bounded -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ErrorBounds.cpp and the files of its families of kernels share; the rules of the
// bounds are there.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_JUDGED_H
#define TGPT_TEST_UNIT_KERNELS_JUDGED_H

#include "runtime/kernels/api/TypeDispatch.h"
#include "test/unit/kernels/ErrorBounds.h"

#include <cmath>

namespace tgpt::test {

using Bounds = std::vector<std::vector<double>>;
using runtime::DType;

/// exp of the kernels is 0 below 2^-125.5; products of that with operands below 2^10.
inline constexpr double underflow = 1e-34;

inline double roundoff(DType dtype) {
  switch (dtype) {
  case DType::F64: return std::ldexp(1, -53);
  case DType::F32: return std::ldexp(1, -24);
  case DType::BF16: return std::ldexp(1, -8);
  case DType::F16: return std::ldexp(1, -11);
  case DType::I32: return 0;
  }
  return 0;
}

/// Half of the smallest number, where that is met.
inline double subnormal(DType dtype) {
  return dtype == DType::F16 ? std::ldexp(1, -25) : 0;
}

/// A case, what the reference gives, and the bounds being filled in.
struct Judged {
  const Case &kase;
  const std::vector<Tensor> &expected;
  std::vector<std::vector<double>> inputs; ///< the case's
  double uA, uT, least;                    ///< least: half the smallest number of the storage type
  bool roundsShares = false;               ///< the kernel does (ErrorBounds.h)
  Bounds bounds;

  Judged(const Case &kase, const std::vector<Tensor> &expected)
      : kase(kase), expected(expected), uA(roundoff(runtime::accumulatorOf(kase.compute))), uT(roundoff(kase.compute)),
        least(subnormal(kase.compute)) {
    for (const Tensor &input : kase.inputs)
      inputs.push_back(input.values());
    for (const Tensor &output : expected)
      bounds.emplace_back(output.elements(), 0.0);
  }
  double in(size_t input, int64_t i) const { return inputs[input][i]; }
  double real(const char *name) const { return kase.attributes.real(name); }
  int64_t integer(const char *name) const { return kase.attributes.integer(name); }
  /// bounds = arithmetic(i) + rounding of the stored value (kernel and reference).
  template <typename Arithmetic> void each(size_t output, Arithmetic arithmetic) {
    double stored = 2 * roundoff(expected[output].dtype()), least = 2 * subnormal(expected[output].dtype());
    for (int64_t i = 0; i < expected[output].elements(); ++i)
      bounds[output][i] = arithmetic(i) + std::max(stored * std::abs(expected[output].get(i)), least);
  }
  std::vector<Tensor> magnitude() const;
};
inline int64_t rowsOf(const Tensor &tensor) {
  return tensor.elements() / tensor.dim(-1);
}

/// Families of kernels.
namespace bounds {
void attention(Judged &j);
void attentionGrad(Judged &j);
void crossEntropy(Judged &j);
void crossEntropyGrad(Judged &j);
void lossStatistics(Judged &j);
void rmsNorm(Judged &j);
void rmsNormGrad(Judged &j);
void headNorm(Judged &j);
void headNormGrad(Judged &j);
void layerNorm(Judged &j);
void layerNormGrad(Judged &j);
void tokenLoss(Judged &j);
} // namespace bounds

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_JUDGED_H
