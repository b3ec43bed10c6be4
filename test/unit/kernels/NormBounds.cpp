//===- NormBounds.cpp - how far norms may be from their formulas -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of ErrorBounds.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Judged.h"

#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

/// rstd: sum of d squares (relative d uA, halved by the root), division, root.
static double rstdError(const Judged &j, int64_t d) {
  return (double(d) / 2 + 5) * j.uA;
}

/// ofRow(row) for every row of width d of a tensor: what its elements have in common.
template <typename OfRow> static std::vector<double> perRow(const Tensor &tensor, int64_t d, OfRow ofRow) {
  std::vector<double> values;
  for (int64_t row = 0; row < tensor.elements() / d; ++row)
    values.push_back(ofRow(row));
  return values;
}

/// sum of term(e) over the elements e of a row.
template <typename Term> static double sumOverRow(int64_t row, int64_t d, Term term) {
  double sum = 0;
  for (int64_t e = row * d; e < row * d + d; ++e)
    sum += term(e);
  return sum;
}

void tgpt::test::bounds::rmsNorm(Judged &j) {
  int64_t d = j.kase.inputs[0].dim(-1);
  j.each(0, [&](int64_t i) { return (rstdError(j, d) + 3 * j.uA) * std::abs(j.expected[0].get(i)); });
  j.each(1, [&](int64_t i) { return rstdError(j, d) * j.expected[1].get(i); });
}

/// dx: g and the dot product of the row, each with its own magnitude.
void tgpt::test::bounds::rmsNormGrad(Judged &j) {
  int64_t d = j.kase.inputs[1].dim(-1);
  std::vector<Tensor> magnitude = j.magnitude();
  std::vector<double> dots = perRow(j.kase.inputs[1], d, [&](int64_t row) {
    return sumOverRow(row, d, [&](int64_t e) { return std::abs(j.in(0, e) * j.in(2, e % d) * j.in(1, e)); });
  });
  j.each(0, [&](int64_t i) {
    double r = j.in(3, i / d), g = std::abs(j.in(0, i) * j.in(2, i % d));
    return r * j.uA * (3 * g + double(d + 7) * std::abs(j.in(1, i)) * r * r * dots[i / d] / double(d));
  });
  j.each(1, [&](int64_t i) { return double(rowsOf(j.kase.inputs[1]) + 4) * j.uA * magnitude[1].get(i); });
}

/// As the norm of a row, a head being one; rstd's own error enters the gradient.
void tgpt::test::bounds::headNorm(Judged &j) {
  int64_t c = j.kase.inputs[1].dim(0);
  j.each(0, [&](int64_t i) { return (rstdError(j, c) + 3 * j.uA) * std::abs(j.expected[0].get(i)); });
}

void tgpt::test::bounds::headNormGrad(Judged &j) {
  int64_t c = j.kase.inputs[2].dim(0), heads = j.kase.inputs[1].elements() / c;
  int64_t headsOfSum = heads / (j.expected[1].elements() / c);
  std::vector<double> dw(j.expected[1].elements());
  double epsilon = j.real("epsilon");
  std::vector<double> rstd = perRow(j.kase.inputs[1], c, [&](int64_t head) {
    double squares = sumOverRow(head, c, [&](int64_t e) { return j.in(1, e) * j.in(1, e); });
    return 1 / std::sqrt(squares / double(c) + epsilon);
  });
  std::vector<double> dots = perRow(j.kase.inputs[1], c, [&](int64_t head) {
    return sumOverRow(head, c, [&](int64_t e) { return std::abs(j.in(0, e) * j.in(2, e % c) * j.in(1, e)); });
  });
  j.each(0, [&](int64_t i) {
    int64_t head = i / c;
    double r = rstd[head], g = std::abs(j.in(0, i) * j.in(2, i % c));
    double slope = std::abs(j.in(1, i)) * r * r * dots[head] / double(c);
    dw[head / headsOfSum * c + i % c] += std::abs(j.in(0, i) * j.in(1, i)) * r;
    return r * (j.uA * (3 * g + double(c + 7) * slope) + rstdError(j, c) * (g + 3 * slope));
  });
  j.each(1, [&](int64_t i) {
    double added = j.kase.accumulates(1) ? std::abs(j.kase.outputs[1].get(i)) : 0.0;
    return (double(heads + 4) * j.uA + rstdError(j, c)) * dw[i] + double(heads + 4) * j.uA * added;
  });
}

/// mean: a sum. variance: the mean's error enters squared (the linear term cancels),
/// plus the rounding of x - mean. y: absolute error of x - mean, times rstd w.
void tgpt::test::bounds::layerNorm(Judged &j) {
  int64_t d = j.kase.inputs[0].dim(-1);
  std::vector<double> meanError = perRow(j.kase.inputs[0], d, [&](int64_t row) {
    double sum = sumOverRow(row, d, [&](int64_t e) { return std::abs(j.in(0, e)); });
    return double(d + 1) * j.uA * sum / double(d);
  });
  auto relative = [&](int64_t row) {
    double slip = meanError[row] * j.expected[2].get(row);
    return rstdError(j, d) + 3 * j.uA + slip * slip;
  };
  j.each(0, [&](int64_t i) {
    int64_t row = i / d;
    double centred = std::abs(j.in(0, i) - j.expected[1].get(row));
    double scale = j.expected[2].get(row) * std::abs(j.in(1, i % d));
    return scale * (meanError[row] + centred * relative(row)) + 2 * j.uA * std::abs(j.in(2, i % d));
  });
  j.each(1, [&](int64_t row) { return meanError[row]; });
  j.each(2, [&](int64_t row) { return relative(row) * j.expected[2].get(row); });
}

/// Sums over the row of |g| and |g n|, each with d terms; sums over rows for dw, dbias.
void tgpt::test::bounds::layerNormGrad(Judged &j) {
  int64_t d = j.kase.inputs[1].dim(-1), rows = rowsOf(j.kase.inputs[1]);
  auto n = [&](int64_t i) { return (std::abs(j.in(1, i)) + std::abs(j.in(3, i / d))) * j.in(4, i / d); };
  auto g = [&](int64_t i) { return std::abs(j.in(0, i) * j.in(2, i % d)); };
  std::vector<double> meanG =
      perRow(j.kase.inputs[1], d, [&](int64_t row) { return sumOverRow(row, d, g) / double(d); });
  std::vector<double> meanGN = perRow(j.kase.inputs[1], d, [&](int64_t row) {
    return sumOverRow(row, d, [&](int64_t e) { return g(e) * n(e); }) / double(d);
  });
  j.each(0, [&](int64_t i) {
    int64_t row = i / d;
    return j.in(4, row) * j.uA * (4 * g(i) + double(d + 4) * meanG[row] + double(d + 8) * n(i) * meanGN[row]);
  });
  int64_t sums = j.expected[1].elements() / d;
  std::vector<double> dw(sums * d), dbias(sums * d);
  for (int64_t i = 0; i < rows * d; ++i) {
    int64_t at = i / d / (rows / sums) * d + i % d;
    dw[at] += std::abs(j.in(0, i)) * n(i);
    dbias[at] += std::abs(j.in(0, i));
  }
  auto added = [&](size_t o, int64_t i) { return j.kase.accumulates(o) ? std::abs(j.kase.outputs[o].get(i)) : 0.0; };
  j.each(1, [&](int64_t i) { return double(rows + 4) * j.uA * (dw[i] + added(1, i)); });
  j.each(2, [&](int64_t i) { return double(rows + 2) * j.uA * (dbias[i] + added(2, i)); });
}
