//===- CrossEntropy.cpp - reference cross-entropy ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <limits>

namespace tgpt::runtime::reference {

/// Columns held here that are no padding.
static int64_t realColumns(const KernelCall &call) {
  int64_t v = call.inputs[0].dim(-1), offset = call.attributes->integer("vocab_offset");
  return std::clamp<int64_t>(call.attributes->integer("vocabulary", offset + v) - offset, 0, v);
}

static double rowMaximum(const KernelCall &call, int64_t row) {
  const TensorView &logits = call.inputs[0];
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < realColumns(call); ++j)
    most = std::max(most, get(logits, row * logits.dim(-1) + j));
  return most;
}

static double rowSum(const KernelCall &call, int64_t row) {
  const TensorView &logits = call.inputs[0];
  ChunkRange range = ChunkRange::of(*call.attributes);
  double sum = 0;
  for (int64_t j = range.beginIn(logits.dim(-1)); j < std::min(realColumns(call), range.endIn(logits.dim(-1))); ++j)
    sum += get(logits, row * logits.dim(-1) + j);
  return sum;
}

/// lse - (1-e) labelLogit - e meanLogit + z lse^2.
static double tokenLoss(const KernelCall &call, double lse, double labelLogit, double meanLogit) {
  double e = call.attributes->real("label_smoothing"), z = call.attributes->real("z_loss");
  return lse - (1 - e) * labelLogit - e * meanLogit + (z == 0 ? 0 : z * lse * lse);
}

KernelStatus crossEntropy(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  int64_t v = logits.dim(-1), real = realColumns(call);
  double loss = 0, count = 0;
  for (int64_t t = 0; t < logits.rows(); ++t) {
    int64_t label = labels.as<int32_t>()[t];
    if (label >= real)
      return {"cross_entropy: a label is not below the vocabulary size"};
    double most = rowMaximum(call, t), sum = 0;
    for (int64_t j = 0; j < real; ++j)
      sum += std::exp(get(logits, t * v + j) - most);
    double lse = most + std::log(sum);
    put(call.outputs[2], t, lse);
    if (label < 0)
      continue;
    loss += tokenLoss(call, lse, get(logits, t * v + label), rowSum(call, t) / double(real));
    count += 1;
  }
  put(call.outputs[0], 0, loss);
  put(call.outputs[1], 0, count);
  return {};
}

KernelStatus crossEntropyGrad(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1], &lse = call.inputs[2];
  int64_t v = logits.dim(-1), offset = call.attributes->integer("vocab_offset");
  double dloss = get(call.inputs[3], 0);
  double e = call.attributes->real("label_smoothing"), z = call.attributes->real("z_loss");
  double vocabulary = double(call.attributes->integer("vocabulary", v));
  for (int64_t t = 0; t < logits.rows(); ++t) {
    int64_t label = labels.as<int32_t>()[t];
    for (int64_t j = 0; j < v; ++j) {
      double p = std::exp(get(logits, t * v + j) - get(lse, t));
      double target = (label - offset == j ? 1 - e : 0) + e / vocabulary;
      put(call.outputs[0], t * v + j,
          label < 0 || j >= realColumns(call) ? 0 : dloss * (p * (1 + 2 * z * get(lse, t)) - target));
    }
  }
  return {};
}

KernelStatus rowMax(const KernelCall &call) {
  for (int64_t t = 0; t < call.inputs[0].rows(); ++t)
    put(call.outputs[0], t, rowMaximum(call, t));
  return {};
}

KernelStatus rowMean(const KernelCall &call) {
  for (int64_t t = 0; t < call.inputs[0].rows(); ++t)
    put(call.outputs[0], t, rowSum(call, t) / double(call.attributes->integer("vocabulary")));
  return {};
}

KernelStatus softmaxSums(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1], &most = call.inputs[2];
  int64_t v = logits.dim(-1), real = realColumns(call), offset = call.attributes->integer("vocab_offset");
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t t = 0; t < logits.rows(); ++t) {
    double sum = 0;
    for (int64_t j = range.beginIn(v); j < std::min(real, range.endIn(v)); ++j)
      sum += std::exp(get(logits, t * v + j) - get(most, t));
    int64_t label = labels.as<int32_t>()[t], row = label - offset;
    put(call.outputs[0], t, sum);
    put(call.outputs[1], t, label >= 0 && row < real && range.holds(row, v) ? get(logits, t * v + row) : 0.0);
  }
  return {};
}

KernelStatus tokenLoss(const KernelCall &call) {
  double loss = 0, count = 0;
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t t = 0; t < call.inputs[0].elements(); ++t) {
    double lse = get(call.inputs[1], t) + std::log(get(call.inputs[2], t));
    put(call.outputs[2], t, lse);
    if (call.inputs[0].as<int32_t>()[t] < 0 || !range.holds(t, call.inputs[0].elements()))
      continue;
    loss += tokenLoss(call, lse, get(call.inputs[3], t), call.inputs.size() > 4 ? get(call.inputs[4], t) : 0.0);
    count += 1;
  }
  put(call.outputs[0], 0, loss);
  put(call.outputs[1], 0, count);
  return {};
}

} // namespace tgpt::runtime::reference
