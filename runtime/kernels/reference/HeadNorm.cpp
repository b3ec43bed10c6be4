//===- HeadNorm.cpp - reference RMS norm of each head -----------*- C++ -*-===//
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

/// 1 / sqrt(mean(x^2) + epsilon) of head `head`, counted over all rows.
static double headRstd(const TensorView &x, int64_t head, int64_t c, double epsilon) {
  double squares = 0;
  for (int64_t j = head * c; j < (head + 1) * c; ++j)
    squares += get(x, j) * get(x, j);
  return 1 / std::sqrt(squares / double(c) + epsilon);
}

KernelStatus headNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1];
  int64_t c = w.dim(0);
  for (int64_t head = 0; head < x.elements() / c; ++head) {
    double r = headRstd(x, head, c, call.attributes->real("epsilon"));
    for (int64_t j = 0; j < c; ++j)
      put(call.outputs[0], head * c + j, get(x, head * c + j) * r * get(w, j));
  }
  return {};
}

/// With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum over rows and heads of dy x rstd.
KernelStatus headNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &w = call.inputs[2];
  int64_t c = w.dim(0), heads = x.elements() / c, sums = call.outputs[1].elements() / c; // a sum a sample, or one
  std::vector<double> dw(sums * c, 0.0);
  ChunkRange range = ChunkRange::of(*call.attributes); // of the heads
  for (int64_t head = 0; head < heads; ++head) {
    double r = headRstd(x, head, c, call.attributes->real("epsilon")), dot = 0;
    for (int64_t j = 0; j < c; ++j) {
      int64_t i = head * c + j;
      dot += get(dy, i) * get(w, j) * get(x, i);
      if (range.isAll() || range.holds(head % (x.dim(-1) / c), x.dim(-1) / c))
        dw[head / (heads / sums) * c + j] += get(dy, i) * get(x, i) * r;
    }
    for (int64_t j = 0; j < c; ++j) {
      int64_t i = head * c + j;
      put(call.outputs[0], i, r * (get(dy, i) * get(w, j) - get(x, i) * r * r * dot / double(c)));
    }
  }
  for (int64_t j = 0; j < sums * c; ++j)
    put(call, 1, j, dw[j]);
  return {};
}

} // namespace tgpt::runtime::reference
