//===- Random.h - words for the masks of dropout ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_RANDOM_H
#define TGPT_RUNTIME_KERNELS_CUDA_RANDOM_H

#include "runtime/kernels/cuda/Arithmetic.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

struct Words {
  uint32_t at[4];
};

/// Philox4x32-10, the same words as api/Philox.h.
__device__ __forceinline__ Words drawWords(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint64_t key) {
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  TGPT_UNROLL
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53u) * c0, product1 = uint64_t(0xCD9E8D57u) * c2;
    c0 = uint32_t(product1 >> 32) ^ c1 ^ key0;
    c2 = uint32_t(product0 >> 32) ^ c3 ^ key1;
    c1 = uint32_t(product1);
    c3 = uint32_t(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The least word that keeps an element: probability 2^32, rounded up.
inline uint32_t thresholdOf(double probability) {
  double least = std::ceil(probability * 4294967296.0);
  return uint32_t(least < 4294967295.0 ? least : 4294967295.0);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_RANDOM_H
