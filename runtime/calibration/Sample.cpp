//===- Sample.cpp - the median of some measurements -----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/Sample.h"

#include <algorithm>

using namespace tgpt::runtime::calibration;

/// The value that `share` of the sorted values lie below, linear between two of them.
static double quantile(const std::vector<double> &sorted, double share) {
  double place = share * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

static Sample sampleAt(double share, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  double value = quantile(seconds, share);
  double between = quantile(seconds, 0.75) - quantile(seconds, 0.25);
  return {value, value > 0 ? between / 2 / value : 0, static_cast<int>(seconds.size())};
}

Sample tgpt::runtime::calibration::sampleOf(std::vector<double> seconds) {
  return sampleAt(0.5, std::move(seconds));
}

Sample tgpt::runtime::calibration::lowerQuartileOf(std::vector<double> seconds) {
  return sampleAt(0.25, std::move(seconds));
}
