//===- RoundFigures.cpp - measured figures, to what they are good for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/RoundFigures.h"

#include <cstdio>
#include <cstdlib>

using namespace tgpt;
using namespace tgpt::runtime::calibration;

/// To four digits.
static double rounded(double figure) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", figure);
  return std::strtod(text, nullptr);
}

static void roundDevice(cost::DeviceProfile &device) {
  for (double *figure : {&device.memoryBytesPerSecond, &device.kernelLaunchSeconds})
    *figure = rounded(*figure);
  for (cost::ByDtype *figures : {&device.matrixFlopsPerSecond, &device.vectorFlopsPerSecond})
    for (double &figure : figures->figures)
      figure = rounded(figure);
  for (cost::EfficiencyCurve *curve : {&device.matrixEfficiency, &device.attentionEfficiency, &device.memoryEfficiency})
    for (auto &[size, share] : curve->points)
      share = rounded(share);
}

static void roundRates(cost::MeasuredRates &measured) {
  for (double *figure : {&measured.stepSeconds, &measured.stepRankSeconds, &measured.busyCoresShare})
    *figure = rounded(*figure);
  for (auto &[name, rates] : measured.kernels)
    for (std::optional<cost::KernelRate> &rate : rates)
      if (rate)
        rate = {rounded(rate->callSeconds), rounded(rate->secondsPerOperation), rounded(rate->secondsPerByte),
                rounded(rate->secondsPerItem)};
  for (auto &[name, rates] : measured.exchanges)
    for (cost::ExchangeRate &rate : rates)
      rate = {rate.ranks, rounded(rate.latencySeconds), rounded(rate.secondsPerByte)};
}

void tgpt::runtime::calibration::roundFigures(cost::Cluster &cluster) {
  roundDevice(cluster.device);
  roundRates(*cluster.measured);
}
