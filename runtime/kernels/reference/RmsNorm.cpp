//===- RmsNorm.cpp - reference RMS norm -------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <vector>

namespace tgpt::runtime::reference {

KernelStatus rmsNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0], &rstd = call.outputs[1];
  int64_t d = x.dim(-1);
  double epsilon = call.attributes->real("epsilon");
  for (int64_t i = 0; i < x.rows(); ++i) {
    double squares = 0;
    for (int64_t j = 0; j < d; ++j)
      squares += get(x, i * d + j) * get(x, i * d + j);
    double r = 1 / std::sqrt(squares / double(d) + epsilon);
    for (int64_t j = 0; j < d; ++j)
      put(y, i * d + j, get(x, i * d + j) * r * get(w, j));
    put(rstd, i, r);
  }
  return {};
}

/// With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum over rows of dy x rstd.
KernelStatus rmsNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &w = call.inputs[2], &rstd = call.inputs[3];
  const TensorView &dx = call.outputs[0];
  int64_t d = x.dim(-1), sums = call.outputs[1].elements() / d; // a sum a sample, or one
  std::vector<double> dw(sums * d, 0.0);
  ChunkRange range = ChunkRange::of(*call.attributes); // of the positions
  for (int64_t i = 0; i < x.rows(); ++i) {
    double r = get(rstd, i), dot = 0;
    for (int64_t j = 0; j < d; ++j) {
      dot += get(dy, i * d + j) * get(w, j) * get(x, i * d + j);
      if (range.isAll() || range.holds(i % x.dim(1), x.dim(1)))
        dw[i / (x.rows() / sums) * d + j] += get(dy, i * d + j) * get(x, i * d + j) * r;
    }
    for (int64_t j = 0; j < d; ++j)
      put(dx, i * d + j, r * (get(dy, i * d + j) * get(w, j) - get(x, i * d + j) * r * r * dot / double(d)));
  }
  for (int64_t j = 0; j < sums * d; ++j)
    put(call, 1, j, dw[j]);
  return {};
}

} // namespace tgpt::runtime::reference
