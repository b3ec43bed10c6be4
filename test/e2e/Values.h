//===- test/e2e/Values.h - tensors as numbers to compare -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_VALUES_H
#define TGPT_TEST_E2E_VALUES_H

#include "runtime/engine/LogicalTensor.h"
#include "runtime/engine/Scalar.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tgpt::runtime {

using Values = std::vector<double>;

inline Values valuesOf(const LogicalTensor &tensor) {
  TensorView view = tensor.view();
  Values values(view.elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadElement(view, i);
  return values;
}

/// Largest magnitude of an element.
inline double largest(const Values &values) {
  double magnitude = 0;
  for (double value : values)
    magnitude = std::max(magnitude, std::abs(value));
  return magnitude;
}

/// Largest magnitude of a difference; NaN when any element of `a` is.
inline double largestDifference(const Values &a, const Values &b) {
  double difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference = std::isnan(a[i]) ? a[i] : std::max(difference, std::abs(a[i] - b[i]));
  return difference;
}

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_VALUES_H
