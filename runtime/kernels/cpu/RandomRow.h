//===- RandomRow.h - the random words of a row ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 for adjacent columns of a row. `lanes` counters run abreast, one word
// of each in an array of its own, so that the ten rounds vectorise; the words are then
// dealt to the columns.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_RANDOMROW_H
#define TGPT_RUNTIME_KERNELS_CPU_RANDOMROW_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tgpt::runtime::cpu::TGPT_ISA {

inline constexpr int64_t lanes = 16;               ///< counters abreast
inline constexpr int64_t blockColumns = 4 * lanes; ///< columns of their words

/// What the columns of a row share.
struct RowStream {
  uint32_t position, sample, step, key0, key1;
};

/// words[column - first], first = 4 group: the words of `lanes` counters from `group` on.
inline void drawWords(const RowStream &row, uint32_t group, uint32_t *words) {
  uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  for (int64_t i = 0; i < lanes; ++i) {
    c0[i] = group + uint32_t(i);
    c1[i] = row.position;
    c2[i] = row.sample;
    c3[i] = row.step;
  }
  uint32_t key0 = row.key0, key1 = row.key1;
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int64_t i = 0; i < lanes; ++i) {
      uint64_t product0 = uint64_t(0xD2511F53u) * c0[i], product1 = uint64_t(0xCD9E8D57u) * c2[i];
      uint32_t next0 = uint32_t(product1 >> 32) ^ c1[i] ^ key0, next2 = uint32_t(product0 >> 32) ^ c3[i] ^ key1;
      c1[i] = uint32_t(product1);
      c3[i] = uint32_t(product0);
      c0[i] = next0;
      c2[i] = next2;
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int64_t i = 0; i < lanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

/// The least word that keeps an element: probability 2^32, rounded up.
inline uint32_t thresholdOf(double probability) {
  return uint32_t(std::min(std::ceil(probability * 0x1p32), 0x1p32 - 1));
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_RANDOMROW_H
