//===- Rope.cpp - rotary position embedding ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For i < c/2 and position p: angle = p theta^(-2i/c); (x_i, x_{i+c/2}) is rotated
// by angle, by -angle when inverse. x, y T[b,s,heads*c]; arithmetic in A, angles in
// f64. Each thread keeps the sines and cosines of the last few calls, so a step
// computes them once. No sums: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/RowConversion.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <atomic>
#include <new>
#include <vector>

namespace tgpt::runtime::cpu::TGPT_ISA {

namespace {
/// What the angles depend on.
struct AngleKey {
  int64_t sequence = 0, half = 0, offset = 0;
  double theta = 0;
  bool operator==(const AngleKey &) const = default;
};

/// Cosines of every (position, i), then sines.
template <typename A> struct AngleTable {
  AngleKey key;
  std::vector<A> values;
};
} // namespace

template <typename A> static void fillAngles(AngleTable<A> &table, const AngleKey &key) {
  table.values.resize(2 * key.sequence * key.half);
  A *cosines = table.values.data(), *sines = cosines + key.sequence * key.half;
  for (int64_t i = 0; i < key.half; ++i) {
    double frequency = std::pow(key.theta, -double(i) / double(key.half));
    for (int64_t p = 0; p < key.sequence; ++p) {
      cosines[p * key.half + i] = A(std::cos(double(p + key.offset) * frequency));
      sines[p * key.half + i] = A(std::sin(double(p + key.offset) * frequency));
    }
  }
  table.key = key;
}

/// This thread's table for `key`, made when it is not among the last few; null when
/// memory is exhausted.
template <typename A> static const A *anglesFor(const AngleKey &key) try {
  constexpr size_t kept = 4;
  static thread_local AngleTable<A> tables[kept];
  static thread_local size_t oldest = 0;
  for (const AngleTable<A> &table : tables)
    if (table.key == key)
      return table.values.data();
  AngleTable<A> &table = tables[oldest];
  oldest = (oldest + 1) % kept;
  table.key = {};
  fillAngles(table, key);
  return table.values.data();
} catch (const std::bad_alloc &) {
  return nullptr;
}

/// So many pairs from `i` on. The number is known here, so that each block is a few vector instructions.
template <int pairs, typename A>
static inline void rotatePairs(const A *x, A *y, const A *cosines, const A *sines, A sign, int64_t half, int64_t i) {
#pragma omp simd
  for (int64_t j = i; j < i + pairs; ++j) {
    A a = x[j], b = x[j + half], sine = sign * sines[j];
    y[j] = a * cosines[j] - b * sine;
    y[j + half] = b * cosines[j] + a * sine;
  }
}

/// Blocks of as many pairs from `i` on, then of half as many: one loop over a short head would be too short for
/// vectors, and take as long as one over a head of eight times as many channels.
template <int pairs = 16, typename A>
static inline void rotateHead(const A *x, A *y, const A *cosines, const A *sines, A sign, int64_t half, int64_t i = 0) {
  for (; half - i >= pairs; i += pairs)
    rotatePairs<pairs>(x, y, cosines, sines, sign, half, i);
  if constexpr (pairs > 1)
    if (i < half)
      rotateHead<pairs / 2>(x, y, cosines, sines, sign, half, i);
}

/// All heads of one position; `row` holds `width` elements. Heads are short: 16-bit elements are widened and narrowed
/// a whole position at a time.
template <typename T, typename A>
static void rotatePosition(const T *x, T *y, A *row, const A *cosines, const A *sines, A sign, int64_t c,
                           int64_t width) {
  if constexpr (sizeof(T) < sizeof(A)) {
    widenRow(x, row, width);
    for (int64_t head = 0; head < width; head += c)
      rotateHead(row + head, row + head, cosines, sines, sign, c / 2);
    narrowRow(row, y, width);
  } else {
    for (int64_t head = 0; head < width; head += c)
      rotateHead(x + head, y + head, cosines, sines, sign, c / 2);
  }
}

KernelStatus rope(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t c = call.attributes->integer("head_dim"), half = c / 2, width = x.dim(2), sequence = x.dim(1);
  bool inverse = call.attributes->integer("inverse");
  AngleKey key{sequence, half, call.attributes->integer("position_offset"), call.attributes->real("theta")};
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const A *cosines = anglesFor<A>(key);
    if (!cosines)
      return {workspaceExhausted};
    const A *sines = cosines + sequence * half;
    std::atomic<const char *> error = nullptr;
    forChunks(x.dim(0) * sequence, rowsPerChunk(width), [&](int64_t begin, int64_t end) {
      A *row = workspace<A>(WorkspaceUse::RotatedRow, width);
      if (!row) {
        error = workspaceExhausted;
        return;
      }
      for (int64_t t = begin; t < end; ++t) {
        int64_t angles = t % sequence * half;
        rotatePosition(x.as<T>() + t * width, y.as<T>() + t * width, row, cosines + angles, sines + angles,
                       A(inverse ? -1 : 1), c, width);
      }
    });
    return {error};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
