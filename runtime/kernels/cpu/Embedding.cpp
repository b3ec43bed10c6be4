//===- Embedding.cpp - embedding lookup and its gradient --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = table[id - vocab_offset], a row of zeros when that row is not held here.
// dtable[id - vocab_offset] += dy, in token order, in A (f64 for f64, else f32).
// ids i32[tokens], table T[v,d], y and dy T[tokens,d], dtable A[v,d].
// Same bits on any number of threads: the lookup has no sums, and the gradient
// is split over columns, so each element is summed by one thread in token order.
// With attribute `chunks` each row adds the tokens of so many equal parts in order, and
// the parts in a tree; a part without the row's token adds 0, which changes nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/PartialSums.h"

#include <cstring>

namespace tgpt::runtime::cpu::TGPT_ISA {

/// The local row of token `t`, or -1.
static int64_t localRow(const TensorView &ids, int64_t t, int64_t offset, int64_t rows) {
  int64_t row = int64_t(ids.as<int32_t>()[t]) - offset;
  return row >= 0 && row < rows ? row : -1;
}

KernelStatus embedding(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &table = call.inputs[1], &y = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = table.dim(0), width = y.dim(-1);
  int64_t rowBytes = width * int64_t(sizeInBytes(y.dtype));
  forChunks(ids.elements(), rowsPerChunk(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t row = localRow(ids, t, offset, rows);
      if (row < 0)
        std::memset(y.as<char>() + t * rowBytes, 0, rowBytes);
      else
        std::memcpy(y.as<char>() + t * rowBytes, table.as<char>() + row * rowBytes, rowBytes);
    }
  });
  return {};
}

namespace {
/// The tokens of each local row in token order, found by counting: of row r they are
/// order[first[r]] to order[first[r + 1]].
struct TokensByRow {
  TokensByRow(const TensorView &ids, int64_t offset, int64_t rows)
      : first(workspace<int64_t>(WorkspaceUse::TokenRows, rows + 2)),
        order(workspace<int64_t>(WorkspaceUse::TokenOrder, ids.elements())) {
    if (!allocated())
      return;
    std::fill_n(first, rows + 2, 0);
    for (int64_t t = 0; t < ids.elements(); ++t)
      if (int64_t row = localRow(ids, t, offset, rows); row >= 0)
        ++first[row + 2];
    for (int64_t row = 0; row < rows; ++row)
      first[row + 2] += first[row + 1];
    for (int64_t t = 0; t < ids.elements(); ++t) // first[row + 1] moves from the row's begin to its end
      if (int64_t row = localRow(ids, t, offset, rows); row >= 0)
        order[first[row + 1]++] = t;
  }
  bool allocated() const { return first && order; }

  int64_t *first, *order;
};
} // namespace

/// sums[0, end - begin) += row.
template <typename T> static void addColumns(const T *row, AccumulatorOf<T> *sums, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t j = begin; j < end; ++j)
    sums[j - begin] += load(row[j]);
}

template <typename T> static KernelStatus embeddingGradInTree(const KernelCall &call, int64_t chunks) {
  using A = AccumulatorOf<T>;
  const TensorView &ids = call.inputs[0], &dy = call.inputs[1], &dtable = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = dtable.dim(0), width = dtable.dim(1);
  ChunkRange range = ChunkRange::of(*call.attributes);
  int64_t chunk = ids.elements() / chunks, before = range.beginIn(ids.elements());
  TokensByRow tokens(ids, offset, rows);
  if (!tokens.allocated())
    return {workspaceExhausted};
  constexpr int64_t columns = 64;
  forChunks(width, columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; ++row) {
      A *sum = dtable.template as<A>() + row * width;
      if (!call.accumulates(0))
        std::fill(sum + begin, sum + end, A(0));
      const int64_t *next = tokens.order + tokens.first[row], *last = tokens.order + tokens.first[row + 1];
      while (next != last && *next < before)
        ++next;
      if (next == last || *next >= range.endIn(ids.elements()))
        continue;
      A levels[mostSumTreeLevels][columns];
      bool isEmpty[mostSumTreeLevels];
      sumInTree(
          range.count,
          [&](int64_t i, int64_t level) {
            int64_t endOfChunk = before + (i + 1) * chunk;
            isEmpty[level] = next == last || *next >= endOfChunk;
            if (!isEmpty[level])
              std::fill_n(levels[level], end - begin, A(0));
            for (; next != last && *next < endOfChunk; ++next)
              addColumns(dy.as<T>() + *next * width, levels[level], begin, end);
          },
          [&](int64_t level) {
            if (isEmpty[level + 1])
              return;
            if (isEmpty[level])
              std::copy_n(levels[level + 1], end - begin, levels[level]);
            else
              addRow(levels[level + 1], levels[level], end - begin);
            isEmpty[level] = false;
          });
      addRow(levels[0], sum + begin, end - begin);
    }
  });
  return {};
}

KernelStatus embeddingGrad(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &dy = call.inputs[1], &dtable = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = dtable.dim(0), width = dtable.dim(1);
  constexpr int64_t columnsPerChunk = 64;
  return forRealType(dy.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    if (int64_t chunks = call.attributes->integer("chunks"); chunks > 0)
      return embeddingGradInTree<T>(call, chunks);
    auto *sums = dtable.as<AccumulatorOf<T>>();
    forChunks(width, columnsPerChunk, [&](int64_t begin, int64_t end) {
      for (int64_t row = 0; row < rows && !call.accumulates(0); ++row)
        std::fill(sums + row * width + begin, sums + row * width + end, AccumulatorOf<T>(0));
      for (int64_t t = 0; t < ids.elements(); ++t) {
        int64_t row = localRow(ids, t, offset, rows);
        if (row < 0)
          continue;
        auto *sum = sums + row * width;
        const T *from = dy.as<T>() + t * width;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j)
          sum[j] += load(from[j]);
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
