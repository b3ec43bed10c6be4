//===- FitRate.h - a kernel's rate from some measured calls ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CALIBRATION_FITRATE_H
#define TGPT_RUNTIME_CALIBRATION_FITRATE_H

#include "cost/MeasuredRates.h"

#include <array>
#include <utility>
#include <vector>

namespace tgpt::runtime::calibration {

/// A measured call: what its time grows with, and its time.
struct Observation {
  std::array<double, 4> parts{}; ///< of which each has a factor
  double seconds = 0;
};

/// The factors, none below 0, with the least sum of squared relative errors over the observations, of which there is at
/// least one and each took some time.
std::array<double, 4> fitFactors(const std::vector<Observation> &observations);

/// The mean of |predicted / measured - 1|.
double meanError(const std::array<double, 4> &factors, const std::vector<Observation> &observations);

/// The parts of a call: pieces, operations, bytes, items.
Observation observe(const cost::CallSize &size, double seconds);
cost::KernelRate rateOf(const std::array<double, 4> &factors);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_FITRATE_H
