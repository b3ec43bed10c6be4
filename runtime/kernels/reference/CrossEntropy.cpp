//===- CrossEntropy.cpp - reference cross-entropy ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tgpt::runtime::reference {

/// Columns held here that are no padding.
static int64_t realColumns(const KernelCall &call) {
  int64_t v = call.inputs[0].dim(-1), offset = call.attributes->integer("vocab_offset");
  return std::clamp<int64_t>(call.attributes->integer("vocabulary", offset + v) - offset, 0, v);
}

/// log sum exp of element(0) to element(n - 1); minus infinity where all of them are.
template <typename Element> static double logSumExp(int64_t n, const Element &element) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i)
    most = std::max(most, element(i));
  double shift = std::isinf(most) && most < 0 ? 0 : most;
  for (int64_t i = 0; i < n; ++i)
    sum += std::exp(element(i) - shift);
  return shift + std::log(sum);
}

/// sum of element(0) to element(n - 1).
template <typename Element> static double sumOf(int64_t n, const Element &element) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += element(i);
  return sum;
}

/// lse - (1-e) labelLogit - e meanLogit + z lse^2.
static double tokenLoss(const KernelCall &call, double lse, double labelLogit, double meanLogit) {
  double e = call.attributes->real("label_smoothing"), z = call.attributes->real("z_loss");
  return lse - (1 - e) * labelLogit - (e == 0 ? 0 : e * meanLogit) + (z == 0 ? 0 : z * lse * lse);
}

KernelStatus crossEntropy(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  int64_t v = logits.dim(-1), real = realColumns(call);
  double loss = 0, count = 0;
  for (int64_t t = 0; t < logits.rows(); ++t) {
    int64_t label = labels.as<int32_t>()[t];
    if (label >= real)
      return {"cross_entropy: a label is not below the vocabulary size"};
    auto logit = [&](int64_t j) { return get(logits, t * v + j); };
    double lse = logSumExp(real, logit);
    put(call.outputs[2], t, lse);
    if (label < 0)
      continue;
    loss += tokenLoss(call, lse, get(logits, t * v + label), sumOf(real, logit) / double(real));
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

KernelStatus lossStatistics(const KernelCall &call) {
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1], &statistics = call.outputs[0];
  int64_t tokens = logits.rows(), v = logits.dim(-1), parts = statistics.dim(0), kinds = statistics.dim(1);
  int64_t columns = v / parts, offset = call.attributes->integer("vocab_offset");
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t t = 0; t < tokens; ++t) {
      int64_t first = part * columns, real = std::clamp<int64_t>(realColumns(call) - first, 0, columns);
      auto logit = [&](int64_t j) { return get(logits, t * v + first + j); };
      auto write = [&](int64_t kind, double value) { put(statistics, (part * kinds + kind) * tokens + t, value); };
      int64_t column = labels.as<int32_t>()[t] - offset - first;
      write(0, logSumExp(real, logit));
      write(1, column >= 0 && column < real ? logit(column) : 0.0);
      if (kinds == 3)
        write(2, sumOf(real, logit) / double(call.attributes->integer("vocabulary")));
    }
  return {};
}

KernelStatus tokenLoss(const KernelCall &call) {
  const TensorView &labels = call.inputs[0], &statistics = call.inputs[1];
  int64_t tokens = labels.elements(), parts = statistics.dim(0), kinds = statistics.dim(1);
  double loss = 0, count = 0;
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t t = 0; t < tokens; ++t) {
    auto ofParts = [&](int64_t kind) {
      return [&, kind](int64_t part) { return get(statistics, (part * kinds + kind) * tokens + t); };
    };
    double lse = logSumExp(parts, ofParts(0));
    put(call.outputs[2], t, lse);
    if (labels.as<int32_t>()[t] < 0 || !range.holds(t, tokens))
      continue;
    loss += tokenLoss(call, lse, sumOf(parts, ofParts(1)), kinds == 3 ? sumOf(parts, ofParts(2)) : 0.0);
    count += 1;
  }
  put(call.outputs[0], 0, loss);
  put(call.outputs[1], 0, count);
  return {};
}

} // namespace tgpt::runtime::reference
