//===- Parallel.h - loops over fixed chunks ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunks of a loop depend on its length alone, never on the number of
// threads, so whatever is summed per chunk gives the same bits on any number of
// threads. The calling thread's OpenMP setting says how many threads to use.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_PARALLEL_H
#define TGPT_RUNTIME_KERNELS_CPU_PARALLEL_H

#include "runtime/kernels/cpu/ThreadTeam.h"

#include <algorithm>
#include <cstdint>
#include <omp.h>

namespace tgpt::runtime::cpu {

/// Elements that are worth a thread's wake-up.
inline constexpr int64_t chunkElements = 16384;

inline int64_t chunkCount(int64_t count, int64_t chunk) {
  return (count + chunk - 1) / chunk;
}

/// Rows of `width` elements that make a chunk.
inline int64_t rowsPerChunk(int64_t width) {
  return std::max<int64_t>(1, chunkElements / width);
}

/// body(begin, end) for each chunk of [0, count).
template <typename Body> void forChunks(int64_t count, int64_t chunk, const Body &body) {
  auto one = [&](int64_t i) { body(i * chunk, std::min(count, (i + 1) * chunk)); };
  int64_t chunks = chunkCount(count, chunk);
  if (chunks < 2 || omp_get_max_threads() < 2) {
    for (int64_t i = 0; i < chunks; ++i)
      one(i);
    return;
  }
  auto call = [](const void *erased, int64_t i) { (*static_cast<const decltype(one) *>(erased))(i); };
  runChunks(chunks, omp_get_max_threads(), {call, &one});
}

} // namespace tgpt::runtime::cpu

#endif // TGPT_RUNTIME_KERNELS_CPU_PARALLEL_H
