//===- Float16.h - the f16 storage type ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IEEE binary16: 5 bits of exponent, 10 of mantissa; largest 65504, smallest normal
// 2^-14, smallest subnormal 2^-24. Conversions round to nearest even, give infinity
// from 65520 on, and keep NaN a (quiet) NaN. They are branch-free, so that loops over
// them vectorise, and give the bits of the processor's own (F16C), which compilers do
// not vectorise.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_FLOAT16_H
#define TGPT_RUNTIME_KERNELS_API_FLOAT16_H

#include "runtime/kernels/api/RoundToOdd.h"

#include <bit>
#include <cstdint>

namespace tgpt::runtime {

struct Float16 {
  uint16_t bits = 0;
};

/// The bits are moved to where f32 has them; a product with 2^112 corrects the
/// exponent's bias, of subnormals too.
inline float toFloat(Float16 x) {
  uint32_t magnitude = uint32_t(x.bits & 0x7fffu) << 13;
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : bits;
  bits |= magnitude > 0x0f800000u ? 0x400000u : 0u;
  return std::bit_cast<float>(bits | uint32_t(x.bits & 0x8000u) << 16);
}

inline Float16 toFloat16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Units in the last place of 0.5f are those of subnormals: the sum rounds to them.
  uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t rounded = magnitude < (113u << 23) ? subnormal : normal;
  rounded = magnitude >= 0x477ff000u ? 0x7c00u : rounded;
  rounded = magnitude > 0x7f800000u ? nan : rounded;
  return {uint16_t(rounded | (bits >> 16 & 0x8000u))};
}

/// Rounds once.
inline Float16 toFloat16(double x) {
  return toFloat16(roundToOdd(x));
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_FLOAT16_H
