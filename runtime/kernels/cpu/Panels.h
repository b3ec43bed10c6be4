//===- Panels.h - blocks of a matrix as a product reads them ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tile that a product keeps in registers, and the packing of blocks into panels as
// high as a tile: for each k the panel's rows lie side by side. Rows that are contiguous
// in memory are transposed in registers, lanes x lanes at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_PANELS_H
#define TGPT_RUNTIME_KERNELS_CPU_PANELS_H

#include "runtime/kernels/cpu/Arithmetic.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tgpt::runtime::cpu::TGPT_ISA {

#if defined(__AVX512F__)
constexpr int64_t vectorBytes = 64, tileRows = 14;
#elif defined(__AVX__)
constexpr int64_t vectorBytes = 32, tileRows = 6;
#else
constexpr int64_t vectorBytes = 16, tileRows = 6;
#endif
/// A tile of C: tileRows x columns, in registers two vectors a row.
template <typename A> struct Tile {
  typedef A Vector __attribute__((vector_size(vectorBytes)));
  static constexpr int64_t lanes = vectorBytes / int64_t(sizeof(A)), columns = 2 * lanes, elements = tileRows * columns;
};

/// Element (row, k) is data[row * rowStride + k * kStride].
template <typename T> struct Strided {
  const T *data;
  int64_t rowStride, kStride;

  Strided at(int64_t row, int64_t k) const { return {data + row * rowStride + k * kStride, rowStride, kStride}; }
};

/// One vector of `lanes` elements, widened.
template <typename T> typename Tile<AccumulatorOf<T>>::Vector loadVector(const T *from) {
  typename Tile<AccumulatorOf<T>>::Vector vector;
  if constexpr (std::is_same_v<T, AccumulatorOf<T>>)
    std::memcpy(&vector, from, sizeof vector);
  else
    for (int64_t i = 0; i < Tile<AccumulatorOf<T>>::lanes; ++i)
      vector[i] = load(from[i]);
  return vector;
}

/// Transposes a square of vectors: log2(lanes) times the first half of them is
/// interleaved with the second one.
template <typename A> void transpose(typename Tile<A>::Vector *rows) {
  using Vector = typename Tile<A>::Vector;
  constexpr int64_t lanes = Tile<A>::lanes;
  typedef std::conditional_t<sizeof(A) == 8, int64_t, int32_t> Index __attribute__((vector_size(vectorBytes)));
  Index low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low[i] = i / 2 + (i & 1) * lanes;
    high[i] = low[i] + lanes / 2;
  }
#pragma GCC unroll 4
  for (int64_t stage = 1; stage < lanes; stage *= 2) {
    Vector next[lanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < lanes / 2; ++i) {
      next[2 * i] = __builtin_shuffle(rows[i], rows[i + lanes / 2], low);
      next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + lanes / 2], high);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i)
      rows[i] = next[i];
  }
}

/// A panel whose rows are contiguous: squares are transposed in registers.
template <int64_t width, typename T> void packRows(const T *data, int64_t rowStride, int64_t k, AccumulatorOf<T> *to) {
  using A = AccumulatorOf<T>;
  constexpr int64_t lanes = Tile<A>::lanes;
  int64_t whole = k / lanes * lanes;
  for (int64_t p = 0; p < whole; p += lanes)
    for (int64_t first = 0; first < width; first += lanes) {
      typename Tile<A>::Vector square[lanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i)
        square[i] = first + i < width ? loadVector(data + (first + i) * rowStride + p) : typename Tile<A>::Vector{};
      transpose<A>(square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i)
        if (first + lanes <= width)
          std::memcpy(to + (p + i) * width + first, &square[i], sizeof square[i]);
        else
          std::memcpy(to + (p + i) * width + first, &square[i], width % lanes * sizeof(A));
    }
  for (int64_t i = 0; i < width; ++i)
    for (int64_t p = whole; p < k; ++p)
      to[p * width + i] = load(data[i * rowStride + p]);
}

/// Rows [0, rows) x [0, k) of `from` as panels of `width` rows, `panelK` k apart:
/// [panel][k][width], the last panel filled up with zeros.
template <int64_t width, typename T>
void pack(Strided<T> from, int64_t rows, int64_t k, AccumulatorOf<T> *to, int64_t panelK) {
  for (int64_t panel = 0; panel < rows; panel += width, to += width * panelK) {
    int64_t present = std::min(width, rows - panel);
    const T *data = from.data + panel * from.rowStride;
    if (present == width && from.kStride == 1) {
      packRows<width>(data, from.rowStride, k, to);
      continue;
    }
    if (present == width && from.rowStride == 1) {
      for (int64_t p = 0; p < k; ++p)
#pragma GCC unroll 32
        for (int64_t i = 0; i < width; ++i)
          to[p * width + i] = load(data[p * from.kStride + i]);
      continue;
    }
    std::fill_n(to, width * k, AccumulatorOf<T>(0));
    for (int64_t i = 0; i < present; ++i)
      for (int64_t p = 0; p < k; ++p)
        to[p * width + i] = load(data[i * from.rowStride + p * from.kStride]);
  }
}

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_PANELS_H
