//===- SplitMix.h - a fast hash of counters ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_SPLITMIX_H
#define TGPT_RUNTIME_DATA_SPLITMIX_H

#include <cstdint>

namespace tgpt::runtime {

/// One output of the SplitMix64 generator (Steele, Lea, Flood 2014) for state `x`: a bijection of 64-bit words whose
/// outputs look random even for consecutive inputs.
constexpr uint64_t splitMix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_SPLITMIX_H
