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
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

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

KernelStatus embeddingGrad(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &dy = call.inputs[1], &dtable = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = dtable.dim(0), width = dtable.dim(1);
  constexpr int64_t columnsPerChunk = 64;
  return forRealType(dy.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
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
