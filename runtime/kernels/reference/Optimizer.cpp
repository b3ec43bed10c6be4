//===- Optimizer.cpp - reference gradient norm, clipping and AdamW --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus sumSquares(const KernelCall &call) {
  double sum = 0;
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i)
    sum += get(call.inputs[0], i) * get(call.inputs[0], i);
  put(call.outputs[0], 0, sum);
  return {};
}

KernelStatus clipScale(const KernelCall &call) {
  double squared = get(call.inputs[0], 0), count = get(call.inputs[1], 0);
  double maxNorm = call.attributes->real("max_norm");
  double norm = 0, scale = 0; // no valid token: nothing to learn from
  if (count != 0) {
    norm = std::sqrt(squared) / count;
    scale = (maxNorm > 0 ? std::min(1.0, maxNorm / (norm + 1e-6)) : 1.0) / count;
  }
  put(call.outputs[0], 0, norm);
  put(call.outputs[1], 0, scale);
  return {};
}

KernelStatus adamW(const KernelCall &call) {
  double beta1 = call.attributes->real("beta1"), beta2 = call.attributes->real("beta2");
  double epsilon = call.attributes->real("epsilon"), decay = call.attributes->real("weight_decay");
  double scale = get(call.inputs[4], 0), rate = get(call.inputs[5], 0), step = get(call.inputs[6], 0);
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double p = get(call.inputs[0], i), g = get(call.inputs[1], i) * scale;
    double m = beta1 * get(call.inputs[2], i) + (1 - beta1) * g;
    double v = beta2 * get(call.inputs[3], i) + (1 - beta2) * g * g;
    double corrected = m / (1 - std::pow(beta1, step));
    double spread = std::sqrt(v / (1 - std::pow(beta2, step))) + epsilon;
    put(call.outputs[0], i, p - rate * (corrected / spread + decay * p));
    put(call.outputs[1], i, m);
    put(call.outputs[2], i, v);
  }
  return {};
}

KernelStatus divide(const KernelCall &call) {
  double x = get(call.inputs[0], 0), y = get(call.inputs[1], 0);
  put(call.outputs[0], 0, y == 0 ? 0 : x / y);
  return {};
}

} // namespace tgpt::runtime::reference
