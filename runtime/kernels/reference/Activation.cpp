//===- Activation.cpp - reference GELU and SwiGLU ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <numbers>

namespace tgpt::runtime::reference {

static const double geluScale = std::sqrt(2 / std::numbers::pi);
static constexpr double geluCubic = 0.044715;

KernelStatus gelu(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double x = get(call.inputs[0], i);
    put(call.outputs[0], i, 0.5 * x * (1 + std::tanh(geluScale * (x + geluCubic * x * x * x))));
  }
  return {};
}

KernelStatus geluGrad(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[1].elements(); ++i) {
    double x = get(call.inputs[1], i);
    double t = std::tanh(geluScale * (x + geluCubic * x * x * x));
    double slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * geluScale * (1 + 3 * geluCubic * x * x);
    put(call.outputs[0], i, get(call.inputs[0], i) * slope);
  }
  return {};
}

static double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

KernelStatus swiglu(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double gate = get(call.inputs[0], i), up = get(call.inputs[1], i);
    put(call.outputs[0], i, gate * sigmoid(gate) * up);
  }
  return {};
}

KernelStatus swigluGrad(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double dy = get(call.inputs[0], i), gate = get(call.inputs[1], i), up = get(call.inputs[2], i);
    double s = sigmoid(gate);
    put(call.outputs[0], i, dy * up * (s + gate * s * (1 - s)));
    put(call.outputs[1], i, dy * gate * s);
  }
  return {};
}

} // namespace tgpt::runtime::reference
