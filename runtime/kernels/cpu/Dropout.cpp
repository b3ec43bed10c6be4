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
// The generator runs `lanes` counters abreast, one word of each in an array of its
// own, so that the ten rounds vectorise; the words are then dealt to the columns.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

static constexpr int64_t lanes = 16;               ///< counters abreast
static constexpr int64_t blockColumns = 4 * lanes; ///< columns of their words

/// What the columns of a row share.
struct RowStream {
  uint32_t position, sample, step, key0, key1;
};

/// words[column - first], first = 4 group: the words of `lanes` counters from `group` on.
static void drawWords(const RowStream &row, uint32_t group, uint32_t *words) {
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

/// The least word that keeps an element: probability 2^32, rounded up.
static uint32_t thresholdOf(double probability) {
  return uint32_t(std::min(std::ceil(probability * 0x1p32), 0x1p32 - 1));
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
