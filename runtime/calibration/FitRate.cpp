//===- FitRate.cpp - a kernel's rate from some measured calls -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With four parts there are fifteen sets of factors that may be above 0. Each set is
// solved by itself, without bounds; of those whose factors are all above 0 the best one
// is the least-squares solution under the bounds.
//
//===----------------------------------------------------------------------===//
#include "runtime/calibration/FitRate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

using namespace tgpt::runtime::calibration;

static constexpr int partCount = 4;
using Matrix = std::array<std::array<double, partCount + 1>, partCount>;

/// Row-reduces the first `size` equations; nothing where they do not determine a solution.
static std::optional<std::array<double, partCount>> solve(Matrix equations, int size) {
  for (int column = 0; column < size; ++column) {
    auto largest = std::max_element(equations.begin() + column, equations.begin() + size,
                                    [&](auto &a, auto &b) { return std::abs(a[column]) < std::abs(b[column]); });
    std::swap(equations[column], *largest);
    if (std::abs(equations[column][column]) < 1e-9) // parts are scaled to about 1
      return std::nullopt;
    for (int row = 0; row < size; ++row) {
      double factor = row == column ? 0 : equations[row][column] / equations[column][column];
      for (int i = column; factor != 0 && i <= partCount; ++i)
        equations[row][i] -= factor * equations[column][i];
    }
  }
  std::array<double, partCount> solution{};
  for (int i = 0; i < size; ++i)
    solution[i] = equations[i][partCount] / equations[i][i];
  return solution;
}

/// Normal equations of the parts in `chosen`: sum over i of factor_i part_i / seconds is to be 1 everywhere.
static Matrix normalEquations(const std::vector<Observation> &scaled, const std::vector<int> &chosen) {
  Matrix equations{};
  for (const Observation &observation : scaled)
    for (size_t row = 0; row < chosen.size(); ++row) {
      double part = observation.parts[chosen[row]];
      for (size_t column = 0; column < chosen.size(); ++column)
        equations[row][column] += part * observation.parts[chosen[column]];
      equations[row][partCount] += part;
    }
  return equations;
}

static double squaredError(const std::vector<Observation> &scaled, const std::array<double, partCount> &factors) {
  double sum = 0;
  for (const Observation &observation : scaled) {
    double predicted = 0;
    for (int i = 0; i < partCount; ++i)
      predicted += factors[i] * observation.parts[i];
    sum += (predicted - 1) * (predicted - 1);
  }
  return sum;
}

std::array<double, 4> tgpt::runtime::calibration::fitFactors(const std::vector<Observation> &observations) {
  // Relative to the measured seconds, and each part to its largest: all numbers are at most 1.
  std::vector<Observation> scaled = observations;
  std::array<double, partCount> scale{};
  for (Observation &observation : scaled)
    for (int i = 0; i < partCount; ++i)
      scale[i] = std::max(scale[i], observation.parts[i] /= observation.seconds);
  for (Observation &observation : scaled)
    for (int i = 0; i < partCount; ++i)
      observation.parts[i] = scale[i] > 0 ? observation.parts[i] / scale[i] : 0;

  std::array<double, partCount> best{};
  double least = std::numeric_limits<double>::infinity();
  for (int set = 1; set < 1 << partCount; ++set) {
    std::vector<int> chosen;
    for (int i = 0; i < partCount; ++i)
      if (set >> i & 1)
        chosen.push_back(i);
    auto solution = solve(normalEquations(scaled, chosen), static_cast<int>(chosen.size()));
    if (!solution || std::any_of(solution->begin(), solution->begin() + static_cast<int>(chosen.size()),
                                 [](double factor) { return factor < 0; }))
      continue;
    std::array<double, partCount> factors{};
    for (size_t i = 0; i < chosen.size(); ++i)
      factors[chosen[i]] = (*solution)[i];
    if (double error = squaredError(scaled, factors); error < least) {
      least = error;
      best = factors;
    }
  }
  for (int i = 0; i < partCount; ++i)
    best[i] = scale[i] > 0 ? best[i] / scale[i] : 0;
  return best;
}

double tgpt::runtime::calibration::meanError(const std::array<double, 4> &factors,
                                             const std::vector<Observation> &observations) {
  double sum = 0;
  for (const Observation &observation : observations) {
    double predicted = 0;
    for (int i = 0; i < partCount; ++i)
      predicted += factors[i] * observation.parts[i];
    sum += std::abs(predicted / observation.seconds - 1);
  }
  return sum / static_cast<double>(observations.size());
}

Observation tgpt::runtime::calibration::observe(const cost::CallSize &size, double seconds) {
  return {{size.pieces, size.operations, size.bytes, size.items}, seconds};
}

tgpt::cost::KernelRate tgpt::runtime::calibration::rateOf(const std::array<double, 4> &factors) {
  return {factors[0], factors[1], factors[2], factors[3]};
}
