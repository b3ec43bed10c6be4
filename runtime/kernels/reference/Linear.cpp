//===- Linear.cpp - reference linear family ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <vector>

namespace tgpt::runtime::reference {

KernelStatus linear(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  int64_t rows = x.rows(), k = x.dim(-1), n = y.dim(-1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = call.inputs.size() > 2 ? get(call.inputs[2], j) : 0.0;
      for (int64_t l = 0; l < k; ++l)
        sum += get(x, i * k + l) * get(w, j * k + l);
      put(y, i * n + j, sum);
    }
  return {};
}

KernelStatus linearDgrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &w = call.inputs[1], &dx = call.outputs[0];
  int64_t rows = dy.rows(), n = dy.dim(-1), k = dx.dim(-1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t l = 0; l < k; ++l) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += get(dy, i * n + j) * get(w, j * k + l);
      put(dx, i * k + l, sum);
    }
  return {};
}

KernelStatus linearDgradSum(const KernelCall &call) {
  const TensorView &dx = call.outputs[0];
  size_t products = call.inputs.size() / 2;
  int64_t rows = dx.rows(), k = dx.dim(-1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t l = 0; l < k; ++l) {
      double sum = 0;
      for (size_t p = 0; p < products; ++p) {
        const TensorView &dy = call.inputs[p], &w = call.inputs[products + p];
        for (int64_t j = 0; j < dy.dim(-1); ++j)
          sum += get(dy, i * dy.dim(-1) + j) * get(w, j * k + l);
      }
      put(dx, i * k + l, sum);
    }
  return {};
}

KernelStatus linearWgrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1];
  int64_t rows = dy.rows(), n = dy.dim(-1), k = x.dim(-1);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i)
        sum += get(dy, i * n + j) * get(x, i * k + l);
      put(call, 0, j * k + l, sum);
    }
  return {};
}

KernelStatus sumLeading(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  int64_t trailing = call.outputs[0].elements(), leading = x.elements() / trailing;
  for (int64_t j = 0; j < trailing; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < leading; ++i)
      sum += get(x, i * trailing + j);
    put(call, 0, j, sum);
  }
  return {};
}

KernelStatus sumPositions(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  int64_t positions = x.dim(1), width = x.dim(2);
  for (int64_t sample = 0; sample < x.dim(0); ++sample)
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < positions; ++i)
        sum += get(x, (sample * positions + i) * width + j);
      put(call.outputs[0], sample * width + j, sum);
    }
  return {};
}

} // namespace tgpt::runtime::reference
