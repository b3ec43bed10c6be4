//===- BFloat16.h - the bf16 storage type -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upper half of an f32. Conversions round to nearest even and keep NaN a NaN;
// they are branch-free, so that loops over them vectorise.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_BFLOAT16_H
#define TGPT_RUNTIME_KERNELS_API_BFLOAT16_H

#include "runtime/kernels/api/RoundToOdd.h"

#include <bit>
#include <cstdint>

namespace tgpt::runtime {

struct BFloat16 {
  uint16_t bits = 0;
};

inline float toFloat(BFloat16 x) {
  return std::bit_cast<float>(uint32_t(x.bits) << 16);
}

inline BFloat16 toBFloat16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  uint32_t quietNan = bits | 0x400000u;
  return {uint16_t((x != x ? quietNan : rounded) >> 16)};
}

/// Rounds once.
inline BFloat16 toBFloat16(double x) {
  return toBFloat16(roundToOdd(x));
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_BFLOAT16_H
