//===- LossBounds.cpp - how far the loss may be from its formula -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As ErrorBounds.cpp, for cross-entropy, whole and of parts of the vocabulary.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Judged.h"

#include <algorithm>
#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

/// Relative error of a sum of exp(x - shift) over a row: v additions, and in each
/// term the rounding of x - shift (below `range`) and of exp.
static double exponentialSumError(const Judged &j, int64_t v, double range) {
  return j.uA * (double(v) + 3 + range);
}

/// The sum's relative error becomes absolute: error of m + log(sum of exp(x - m)), where the sum has `terms` terms that
/// lie within `range` of the result.
static double logSumExpError(const Judged &j, double lse, int64_t terms, double range) {
  return exponentialSumError(j, terms, range + 1) + 2 * j.uA * (std::abs(lse) + 10);
}

/// How far elements [begin, end) of the logits lie from `shift`; those of minus infinity add exactly 0.
static double rangeOf(const Judged &j, int64_t begin, int64_t end, double shift) {
  double range = 0;
  for (int64_t e = begin; e < end; ++e)
    if (!std::isinf(j.in(0, e)))
      range = std::max(range, std::abs(j.in(0, e) - shift));
  return range;
}

/// Errors of the loss terms beyond lse - label's logit: z lse^2 has that of lse, doubled
/// and scaled; the mean logit is a sum of `terms` terms of total size `magnitude`.
static double termsError(const Judged &j, double lse, double lseError, int64_t terms, double magnitude) {
  double e = j.real("label_smoothing"), z = j.real("z_loss");
  return z * (2 * std::abs(lse) * lseError + 3 * j.uA * lse * lse) + e * double(terms + 2) * j.uA * magnitude;
}

static double meanMagnitude(const Judged &j, int64_t row) {
  int64_t v = j.kase.inputs[0].dim(-1), vocabulary = j.integer("vocabulary");
  double sum = 0;
  for (int64_t e = row * v; e < row * v + v; ++e)
    sum += std::abs(j.in(0, e));
  return sum / double(vocabulary > 0 ? std::min(vocabulary, v) : v); // padding is no term of the mean
}

/// The tokens are added in f64, so the loss has the errors of its tokens.
void bounds::crossEntropy(Judged &j) {
  int64_t v = j.kase.inputs[0].dim(-1);
  double loss = 0;
  j.each(2, [&](int64_t t) {
    double lse = j.expected[2].get(t);
    double error = logSumExpError(j, lse, v, rangeOf(j, t * v, t * v + v, lse));
    if (j.in(1, t) >= 0)
      loss += error + 2 * j.uA * std::abs(lse) + termsError(j, lse, error, v, meanMagnitude(j, t));
    return error;
  });
  j.each(0, [&](int64_t) { return loss; });
}

void bounds::crossEntropyGrad(Judged &j) {
  int64_t v = j.kase.inputs[0].dim(-1);
  double dloss = std::abs(j.in(3, 0)), e = j.real("label_smoothing");
  double uniform = e == 0 ? 0 : e / double(j.integer("vocabulary"));
  j.each(0, [&](int64_t i) {
    double x = j.in(0, i) - j.in(2, i / v), p = std::exp(x) * (1 + 2 * j.real("z_loss") * std::abs(j.in(2, i / v)));
    bool isLabel = int64_t(j.in(1, i / v)) - j.integer("vocab_offset") == i % v;
    double operations = 3 + std::abs(x) + (j.real("z_loss") == 0 ? 0 : 4);
    return dloss * (p * j.uA * operations + (isLabel ? 2 * j.uA : 0) + 4 * j.uA * uniform) + underflow;
  });
}

/// Of a part of a row: its log-sum-exp has the error of a whole row's, the label's logit is copied, the mean's addends
/// are summed and divided. Where all columns are padding the values are exact.
void bounds::lossStatistics(Judged &j) {
  const Tensor &statistics = j.expected[0];
  int64_t v = j.kase.inputs[0].dim(-1), tokens = rowsOf(j.kase.inputs[0]), columns = v / statistics.dim(0);
  double vocabulary = double(std::max<int64_t>(j.integer("vocabulary"), 1));
  j.each(0, [&](int64_t i) {
    int64_t kind = i / tokens % statistics.dim(1), first = i % tokens * v + i / (statistics.dim(1) * tokens) * columns;
    double value = statistics.get(i), magnitude = 0;
    for (int64_t e = first; e < first + columns; ++e)
      magnitude += std::abs(j.in(0, e));
    if (kind == 1 || std::isinf(value))
      return 0.0;
    return kind == 0 ? logSumExpError(j, value, columns, rangeOf(j, first, first + columns, value))
                     : double(columns + 2) * j.uA * magnitude / vocabulary;
  });
}

/// Parts that are minus infinity add nothing. The tokens are added in f64, their chunks in A.
void bounds::tokenLoss(Judged &j) {
  const Tensor &statistics = j.kase.inputs[1];
  int64_t tokens = j.expected[2].elements(), parts = statistics.dim(0), kinds = statistics.dim(1);
  auto at = [&](int64_t kind, int64_t part, int64_t t) { return j.in(1, (part * kinds + kind) * tokens + t); };
  auto magnitudeOf = [&](int64_t kind, int64_t t) {
    double sum = 0;
    for (int64_t part = 0; kind < kinds && part < parts; ++part)
      sum += std::abs(at(kind, part, t));
    return sum;
  };
  double loss = 0, magnitude = 0, e = j.real("label_smoothing");
  j.each(2, [&](int64_t t) {
    double lse = j.expected[2].get(t), range = 0;
    for (int64_t part = 0; part < parts; ++part)
      if (!std::isinf(at(0, part, t)))
        range = std::max(range, std::abs(at(0, part, t) - lse));
    double error = logSumExpError(j, lse, parts, range), label = magnitudeOf(1, t), mean = magnitudeOf(2, t);
    if (j.in(0, t) >= 0) {
      loss += error + double(parts) * j.uA * label + termsError(j, lse, error, parts, mean);
      magnitude += std::abs(lse) + label + e * mean + j.real("z_loss") * lse * lse;
    }
    return error;
  });
  double additions = double(tokens) * roundoff(DType::F64) + double(j.integer("chunks") + 1) * j.uA;
  j.each(0, [&](int64_t) { return loss + additions * magnitude; });
}
