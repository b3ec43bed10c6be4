//===- DeviceRates.cpp - the rates that a step's closed form is made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/DeviceRates.h"
#include "cost/DeviceProfile.h"

namespace tgpt::cost {

DeviceRates ratesOf(const DeviceProfile &device) {
  constexpr double largeFlops = 1e13, largeBytes = 1e9;
  DeviceRates rates;
  rates.memoryBytesPerSecond = device.memoryBytesPerSecond;
  rates.memoryFraction = device.memoryEfficiency.at(largeBytes);
  rates.kernelStartSeconds = device.kernelLaunchSeconds;
  GemmCurve &curve = rates.gemm[static_cast<std::size_t>(OperandType::Bits16)];
  curve.peakFlopsPerSecond = device.matrixFlopsPerSecond[Dtype::BF16];
  curve.efficiency = device.matrixEfficiency.at(largeFlops);
  curve.startSeconds = device.kernelLaunchSeconds;
  curve.memoryFraction = rates.memoryFraction;
  double attention = curve.peakFlopsPerSecond * device.attentionEfficiency.at(largeFlops);
  rates.attentionForwardFlopsPerSecond = attention;
  rates.attentionBackwardFlopsPerSecond = 0.8 * attention;
  return rates;
}

} // namespace tgpt::cost
