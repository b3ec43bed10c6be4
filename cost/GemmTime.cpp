//===- GemmTime.cpp - seconds of a matrix product -------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------===//

#include "cost/GemmTime.h"

#include <algorithm>
#include <cmath>

namespace tgpt::cost {

double gemmSeconds(const GemmCurve &curve, double memoryBytesPerSecond, const Gemm &gemm) {
  double tiles = gemm.batch * std::ceil(gemm.m / curve.tileM) * std::ceil(gemm.n / curve.tileN);
  double fractional = tiles / curve.units;
  // Past 64 waves the two differ by less than 1%: no power needed.
  double waves = fractional;
  if (fractional < 64)
    waves *= std::pow(std::ceil(fractional) / fractional, curve.waveSoftness);
  double tileFlops = 2 * curve.tileM * curve.tileN * (gemm.k + curve.kHalf);
  double unitFlopsPerSecond = curve.peakFlopsPerSecond * curve.efficiency / curve.units;
  double mathSeconds = waves * tileFlops / unitFlopsPerSecond;
  double memorySeconds = gemm.bytes() / (memoryBytesPerSecond * curve.memoryFraction);
  return curve.startSeconds + std::max(mathSeconds, memorySeconds);
}

} // namespace tgpt::cost
