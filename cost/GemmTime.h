//===- GemmTime.h - seconds of a matrix product ---------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------===//
//
// A product runs in waves of tiles over the device's units. Its time is the larger of
// what its tiles and what its bytes need, after a fixed start:
//
//   start + max(waves * 2 tileM tileN (k + kHalf) / (peak * efficiency / units),
//               bytes / (memory * memoryFraction))
//
// `waves` lies between tiles / units (a kernel that splits k, or persistent tiles) and
// its ceiling (whole waves): waveSoftness is the exponent between the two. kHalf is the
// cost of a tile's prologue, in elements of k.
//
//===--------------------------------------------------------------------------------===//

#ifndef TGPT_COST_GEMMTIME_H
#define TGPT_COST_GEMMTIME_H

namespace tgpt::cost {

/// How well a device's matrix units are used; fitted on kernel tables (validation/fit.py).
struct GemmCurve {
  double peakFlopsPerSecond = 0;
  double efficiency = 0.8;      ///< of the peak, for a large product
  double kHalf = 150;           ///< elements of k that a tile's prologue costs
  double waveSoftness = 0.5;    ///< 0: fractional waves, 1: whole waves
  double startSeconds = 5e-6;   ///< of one kernel
  double memoryFraction = 0.8;  ///< of the memory's bandwidth that operands move at
  double sustainedFraction = 1; ///< of the curve's rate that a long run keeps, where a short benchmark measured it
  double units = 108;           ///< multiprocessors
  double tileM = 128, tileN = 128;
};

/// batch products of m x k by k x n.
struct Gemm {
  double batch = 1, m = 0, n = 0, k = 0;
  double operandBytes = 2; ///< of one element of either operand
  double resultBytes = 2;  ///< of one element of the result

  double flops() const { return 2 * batch * m * n * k; }
  double bytes() const { return batch * ((m * k + k * n) * operandBytes + m * n * resultBytes); }
};

double gemmSeconds(const GemmCurve &curve, double memoryBytesPerSecond, const Gemm &gemm);

} // namespace tgpt::cost

#endif // TGPT_COST_GEMMTIME_H
