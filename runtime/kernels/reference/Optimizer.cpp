//===- Optimizer.cpp - reference gradient norm, clipping and AdamW --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <cstring>
#include <limits>

namespace tgpt::runtime::reference {

KernelStatus sumSquares(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  ChunkRange range = ChunkRange::of(*call.attributes);
  int64_t dim = call.attributes->integer("chunk_dim"), inner = 1;
  for (int64_t i = dim + 1; i < x.rank; ++i)
    inner *= x.shape[i];
  double sum = 0;
  for (int64_t i = 0; i < x.elements(); ++i)
    if (range.isAll() || range.holds(i / inner % x.shape[dim], x.shape[dim]))
      sum += get(x, i) * get(x, i);
  put(call.outputs[0], 0, sum);
  return {};
}

KernelStatus clipScale(const KernelCall &call) {
  double squared = get(call.inputs[0], 0), count = get(call.inputs[1], 0);
  if (call.inputs.size() > 2) // gradients of the scaled loss
    count *= get(call.inputs[2], 0);
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

/// Bounds of the dtype of `view`.
static double smallestNormal(const TensorView &view) {
  return view.dtype == DType::F64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
}
static double largest(const TensorView &view) {
  return view.dtype == DType::F64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

KernelStatus adjustLossScale(const KernelCall &call) {
  double scale = get(call.inputs[1], 0), good = get(call.inputs[2], 0), skipped = get(call.inputs[3], 0);
  double applied = 0, step = get(call.inputs[4], 0);
  if (!std::isfinite(get(call.inputs[0], 0))) {
    double smaller = std::min(scale, largest(call.inputs[1])) * call.attributes->real("backoff");
    scale = smaller >= smallestNormal(call.inputs[1]) ? smaller : scale;
    good = 0;
    skipped += 1;
  } else {
    applied = step - skipped;
    good += 1;
    if (good >= double(call.attributes->integer("growth_interval"))) {
      double larger = scale * call.attributes->real("growth");
      scale = larger <= largest(call.inputs[1]) ? larger : scale;
      good = 0;
    }
  }
  put(call.outputs[0], 0, scale);
  put(call.outputs[1], 0, good);
  put(call.outputs[2], 0, skipped);
  put(call.outputs[3], 0, applied);
  return {};
}

KernelStatus adamW(const KernelCall &call) {
  if (get(call.inputs[6], 0) == 0) { // step 0: nothing has happened yet
    for (auto [from, to] : {std::pair(0, 0), {2, 1}, {3, 2}})
      std::memmove(call.outputs[to].data, call.inputs[from].data, call.inputs[from].bytes());
    return {};
  }
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
