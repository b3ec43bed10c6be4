//===- RoundToOdd.h - f64 to f32, to be rounded once more -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_ROUNDTOODD_H
#define TGPT_RUNTIME_KERNELS_API_ROUNDTOODD_H

#include <bit>
#include <cstdint>

namespace tgpt::runtime {

/// Towards zero, the last bit set where anything was lost: rounding the result to bf16
/// or f16 gives what rounding `x` itself gives.
inline float roundToOdd(double x) {
  float nearest = float(x);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  double back = nearest;
  bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  if (finite && back != x) {
    bool tooBig = back > 0 ? back > x : back < x;
    if (back != 0 && tooBig)
      --bits;
    bits |= 1u;
  }
  return std::bit_cast<float>(bits);
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_ROUNDTOODD_H
