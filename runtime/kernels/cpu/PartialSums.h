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

#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/Kernel.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <algorithm>
#include <atomic>

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

/// body(i, sums) for i in [first, first + count).
template <typename Body, typename A> void forRange(int64_t first, int64_t count, const Body &body, A *sums) {
  for (int64_t i = first; i < first + count; ++i)
    body(i, sums);
}

/// Sums over the chunks of each sample, in a tree (api/SumTree.h): what a rank that holds
/// some of the chunks sums is what the sum over all of them contains.
template <typename A> class SampleSums {
public:
  /// Of each sample `vectors` sums of `width` elements.
  SampleSums(int64_t width, int64_t vectors, ChunkRange chunks) : stride(width * vectors), chunks(chunks) {}

  /// body(sample, chunk, sums) for each chunk of each sample adds to sums that start at
  /// 0, for those outside of the range as well; total(sample, sums) takes the sum of those in it.
  template <typename Body, typename Total>
  KernelStatus forEachSample(int64_t samples, const Body &body, const Total &total) const {
    std::atomic<const char *> error = nullptr;
    forChunks(samples, 1, [&](int64_t sample, int64_t) {
      A *levels = workspace<A>(WorkspaceUse::PartialSums, sumTreeLevels(chunks.count) * stride);
      if (!levels) {
        error = workspaceExhausted;
        return;
      }
      // One copy of the code, or the compiler might fuse other products of the two: whatever the range, the same bits.
      auto addChunk = [&](int64_t chunk, A * own) __attribute__((noinline)) {
        body(sample, chunk, own);
      };
      for (int64_t chunk = 0; chunk < chunks.all; ++chunk)
        if (!chunks.holds(chunk, chunks.all))
          addChunk(chunk, levels);
      sumInTree(
          chunks.count,
          [&](int64_t i, int64_t level) {
            std::fill_n(levels + level * stride, stride, A(0));
            addChunk(chunks.first + i, levels + level * stride);
          },
          [&](int64_t level) { addRow(levels + (level + 1) * stride, levels + level * stride, stride); });
      total(sample, levels);
    });
    return {error};
  }

private:
  int64_t stride;
  ChunkRange chunks;
};

/// to[j] = or += the sum over `addends` rows, each addend(i, sums) added to sums that
/// start at 0, in a tree. `width` elements, columns apart on the threads.
template <typename A, typename Addend>
KernelStatus sumRowsInTree(int64_t addends, int64_t width, A *to, bool accumulate, const Addend &addend) {
  constexpr int64_t columns = 1024;
  forChunks(width, columns, [&](int64_t begin, int64_t end) {
    A levels[mostSumTreeLevels][columns];
    sumInTree(
        addends,
        [&](int64_t i, int64_t level) {
          std::fill_n(levels[level], end - begin, A(0));
          addend(i, begin, end, levels[level]);
        },
        [&](int64_t level) { addRow(levels[level + 1], levels[level], end - begin); });
    if (!accumulate)
      std::fill(to + begin, to + end, A(0));
    addRow(levels[0], to + begin, end - begin);
  });
  return {};
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_PARTIALSUMS_H
