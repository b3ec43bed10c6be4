//===- LayerNorm.cpp - reference layer norm ---------------------*- C++ -*-===//
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

KernelStatus layerNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &bias = call.inputs[2];
  int64_t d = x.dim(-1);
  double epsilon = call.attributes->real("epsilon");
  for (int64_t i = 0; i < x.rows(); ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < d; ++j)
      mean += get(x, i * d + j) / double(d);
    for (int64_t j = 0; j < d; ++j)
      variance += (get(x, i * d + j) - mean) * (get(x, i * d + j) - mean) / double(d);
    double r = 1 / std::sqrt(variance + epsilon);
    for (int64_t j = 0; j < d; ++j)
      put(call.outputs[0], i * d + j, (get(x, i * d + j) - mean) * r * get(w, j) + get(bias, j));
    put(call.outputs[1], i, mean);
    put(call.outputs[2], i, r);
  }
  return {};
}

/// With n = (x - mean) rstd, g = dy w: dx = rstd (g - mean(g) - n mean(g n)),
/// dw = sum over rows of dy n, dbias = sum over rows of dy.
KernelStatus layerNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &w = call.inputs[2], &mean = call.inputs[3];
  const TensorView &rstd = call.inputs[4], &dx = call.outputs[0];
  int64_t d = x.dim(-1), sums = call.outputs[1].elements() / d; // a sum a sample, or one
  std::vector<double> dw(sums * d, 0.0), dbias(sums * d, 0.0), g(d), n(d);
  ChunkRange range = ChunkRange::of(*call.attributes); // of the positions
  for (int64_t i = 0; i < x.rows(); ++i) {
    int64_t sum = i / (x.rows() / sums) * d;
    double r = get(rstd, i), meanG = 0, meanGN = 0;
    for (int64_t j = 0; j < d; ++j) {
      n[j] = (get(x, i * d + j) - get(mean, i)) * r;
      g[j] = get(dy, i * d + j) * get(w, j);
      meanG += g[j] / double(d);
      meanGN += g[j] * n[j] / double(d);
      if (!range.isAll() && !range.holds(i % x.dim(1), x.dim(1)))
        continue;
      dw[sum + j] += get(dy, i * d + j) * n[j];
      dbias[sum + j] += get(dy, i * d + j);
    }
    for (int64_t j = 0; j < d; ++j)
      put(dx, i * d + j, r * (g[j] - meanG - n[j] * meanGN));
  }
  for (int64_t j = 0; j < sums * d; ++j) {
    put(call, 1, j, dw[j]);
    put(call, 2, j, dbias[j]);
  }
  return {};
}

} // namespace tgpt::runtime::reference
