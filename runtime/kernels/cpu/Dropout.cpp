//===- Dropout.cpp - zero a random part of the elements ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x / (1 - probability) where word[column % 4] >= probability 2^32, else 0, with
// word = Philox4x32-10(counter = column / 4, position, sample, step; key). The columns
// and positions are those of the whole tensor, the sample's number is an input: the
// mask does not depend on who holds the element.
// x, y T[b,s,d], samples i32[b], step i32[]; arithmetic in A; y may be x. No sums and
// no state: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/RandomRow.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// y = x scale where words >= threshold, else 0.
template <typename T>
static void mask(const T *x, T *y, const uint32_t *words, uint32_t threshold, AccumulatorOf<T> scale, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    y[j] = store<T>(words[j] >= threshold ? load(x[j]) * scale : AccumulatorOf<T>(0));
}

template <typename T>
static void dropRow(const T *x, T *y, const RowStream &row, uint32_t threshold, AccumulatorOf<T> scale,
                    int64_t columnOffset, int64_t d) {
  uint32_t words[blockColumns];
  for (int64_t j = 0; j < d;) {
    int64_t column = columnOffset + j, skipped = column % 4;
    drawWords(row, uint32_t(column / 4), words);
    int64_t n = std::min(d - j, blockColumns - skipped);
    mask(x + j, y + j, words + skipped, threshold, scale, n);
    j += n;
  }
}

KernelStatus dropout(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  int64_t s = x.dim(1), d = x.dim(2);
  double probability = call.attributes->real("probability");
  uint64_t key = uint64_t(call.attributes->integer("key"));
  int64_t positionOffset = call.attributes->integer("position_offset");
  int64_t widthOffset = call.attributes->integer("width_offset");
  const int32_t *samples = call.inputs[1].as<int32_t>();
  uint32_t step = uint32_t(*call.inputs[2].as<int32_t>()), threshold = thresholdOf(probability);
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const T *from = x.as<T>();
    T *to = call.outputs[0].as<T>();
    A scale = A(1 / (1 - probability));
    forChunks(x.rows(), rowsPerChunk(d), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        RowStream row{uint32_t(positionOffset + i % s), uint32_t(samples[i / s]), step, uint32_t(key),
                      uint32_t(key >> 32)};
        dropRow(from + i * d, to + i * d, row, threshold, scale, widthOffset, d);
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
