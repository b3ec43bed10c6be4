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
  for (auto [type, dtype] : {std::pair{OperandType::Bits16, Dtype::BF16}, {OperandType::Bits32, Dtype::F32}}) {
    GemmCurve &curve = rates.gemm[static_cast<std::size_t>(type)];
    curve.peakFlopsPerSecond = device.matrixFlopsPerSecond[dtype];
    curve.efficiency = device.matrixEfficiency.at(largeFlops);
    curve.startSeconds = device.kernelLaunchSeconds;
    curve.memoryFraction = rates.memoryFraction;
  }
  double attention = device.matrixFlopsPerSecond[Dtype::BF16] * device.attentionEfficiency.at(largeFlops);
  rates.attentionForwardFlopsPerSecond = attention;
  rates.attentionBackwardFlopsPerSecond = 0.8 * attention;
  return rates;
}

} // namespace tgpt::cost
