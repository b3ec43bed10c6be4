//===- Rope.cpp - reference rotary position embedding -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus rope(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t c = call.attributes->integer("head_dim"), half = c / 2;
  int64_t offset = call.attributes->integer("position_offset");
  double theta = call.attributes->real("theta"), sign = call.attributes->integer("inverse") ? -1 : 1;
  int64_t sequence = x.dim(1), heads = x.dim(2) / c;
  for (int64_t t = 0; t < x.dim(0) * sequence; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < half; ++i) {
        double angle = double(t % sequence + offset) * std::pow(theta, -2.0 * double(i) / double(c));
        double cosine = std::cos(angle), sine = sign * std::sin(angle);
        int64_t low = (t * heads + h) * c + i, high = low + half;
        double a = get(x, low), b = get(x, high);
        put(y, low, a * cosine - b * sine);
        put(y, high, b * cosine + a * sine);
      }
  return {};
}

} // namespace tgpt::runtime::reference
