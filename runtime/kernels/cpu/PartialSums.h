//===- PartialSums.h - column sums over rows, in a fixed order --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of weights that every row shares: each chunk of rows adds into sums
// of its own, and the chunks are added in order. The chunks depend on the shape
// alone, so the bits do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_PARTIALSUMS_H
#define TGPT_RUNTIME_KERNELS_CPU_PARTIALSUMS_H

#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/Workspace.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// sums += row.
template <typename T> void addRow(const T *row, AccumulatorOf<T> *sums, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    sums[j] += load(row[j]);
}

template <typename A> class PartialSums {
public:
  /// `vectors` sums of `width` elements for each chunk of `rows`.
  PartialSums(int64_t rows, int64_t width, int64_t vectors)
      : rows(rows), width(width), stride(width * vectors),
        chunk(std::max(rowsPerChunk(width), chunkCount(rows, mostChunks))),
        sums(workspace<A>(WorkspaceUse::PartialSums, chunkCount(rows, chunk) * stride)) {}

  bool allocated() const { return sums != nullptr; }

  /// body(begin, end, sums) for each chunk of rows; its sums start at 0.
  template <typename Body> void forEachChunk(const Body &body) {
    forChunks(rows, chunk, [&](int64_t begin, int64_t end) {
      A *own = sums + begin / chunk * stride;
      std::fill(own, own + stride, A(0));
      body(begin, end, own);
    });
  }

  /// to[j] = or += the chunks' sums of `vector`, added in order.
  void total(int64_t vector, A *to, bool accumulate) const {
    forChunks(width, chunkElements, [&](int64_t begin, int64_t end) {
      if (!accumulate)
        std::fill(to + begin, to + end, A(0));
      for (int64_t i = 0; i < chunkCount(rows, chunk); ++i) {
        const A *from = sums + i * stride + vector * width;
        addRow(from + begin, to + begin, end - begin);
      }
    });
  }

private:
  static constexpr int64_t mostChunks = 64;
  int64_t rows, width, stride, chunk;
  A *sums;
};

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_PARTIALSUMS_H
