//===- Linear.cpp - reference linear family ---------------------*- C++ -*-===//
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

KernelStatus linear(const KernelCall &call) {
  const TensorView &y = call.outputs[0];
  int64_t rows = y.rows(), k = call.inputs[0].dim(-1), n = y.dim(-1);
  ChunkRange range = ChunkRange::of(*call.attributes);
  std::vector<double> x = valuesOf(call.inputs[0]), w = valuesOf(call.inputs[1]);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = call.inputs.size() > 2 ? get(call.inputs[2], j) : 0.0;
      for (int64_t l = range.beginIn(k); l < range.endIn(k); ++l)
        sum += x[i * k + l] * w[j * k + l];
      put(y, i * n + j, sum);
    }
  return {};
}

/// dx = sum over `products` of dy_i w_i, the inputs being all dy, then all w.
static KernelStatus addProducts(const KernelCall &call, size_t products) {
  const TensorView &dx = call.outputs[0];
  int64_t rows = dx.rows(), k = dx.dim(-1);
  ChunkRange range = ChunkRange::of(*call.attributes);
  std::vector<double> sums(rows * k, 0.0);
  for (size_t p = 0; p < products; ++p) {
    int64_t n = call.inputs[p].dim(-1);
    std::vector<double> dy = valuesOf(call.inputs[p]), w = valuesOf(call.inputs[products + p]);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = range.beginIn(n); j < range.endIn(n); ++j)
        for (int64_t l = 0; l < k; ++l)
          sums[i * k + l] += dy[i * n + j] * w[j * k + l];
  }
  for (int64_t i = 0; i < rows * k; ++i)
    put(dx, i, sums[i]);
  return {};
}

KernelStatus linearDgrad(const KernelCall &call) {
  return addProducts(call, 1);
}
KernelStatus linearDgradSum(const KernelCall &call) {
  return addProducts(call, call.inputs.size() / 2);
}

KernelStatus linearWgrad(const KernelCall &call) {
  int64_t rows = call.inputs[0].rows(), n = call.inputs[0].dim(-1), k = call.inputs[1].dim(-1);
  ChunkRange range = ChunkRange::of(*call.attributes);
  std::vector<double> dy = valuesOf(call.inputs[0]), x = valuesOf(call.inputs[1]), sums(n * k, 0.0);
  for (int64_t i = range.beginIn(rows); i < range.endIn(rows); ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        sums[j * k + l] += dy[i * n + j] * x[i * k + l];
  for (int64_t i = 0; i < n * k; ++i)
    put(call, 0, i, sums[i]);
  return {};
}

KernelStatus sumLeading(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  int64_t trailing = call.outputs[0].elements(), leading = x.elements() / trailing;
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t j = 0; j < trailing; ++j) {
    double sum = 0;
    for (int64_t i = range.beginIn(leading); i < range.endIn(leading); ++i)
      sum += get(x, i * trailing + j);
    put(call, 0, j, sum);
  }
  return {};
}

KernelStatus sumPositions(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  int64_t positions = x.dim(1), width = x.dim(2);
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t sample = 0; sample < x.dim(0); ++sample)
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = range.beginIn(positions); i < range.endIn(positions); ++i)
        sum += get(x, (sample * positions + i) * width + j);
      put(call.outputs[0], sample * width + j, sum);
    }
  return {};
}

} // namespace tgpt::runtime::reference
