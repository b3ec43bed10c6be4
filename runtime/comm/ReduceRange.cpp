//===- ReduceRange.cpp - element-wise reduction of n tensors ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a few kilobytes are reduced in a stack buffer over all inputs, then
// copied to all outputs: every input is read once, every output written once.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/ReduceRange.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/api/SumTree.h"

#include <algorithm>
#include <cstring>

using namespace tgpt::runtime;

static constexpr int64_t blockElements = 512;

static float widen(BFloat16 x) {
  return toFloat(x);
}
static float widen(Float16 x) {
  return toFloat(x);
}
static float widen(float x) {
  return x;
}
static double widen(double x) {
  return x;
}
// Unsigned, so that a sum wraps instead of overflowing.
static uint32_t widen(int32_t x) {
  return static_cast<uint32_t>(x);
}

static void narrow(float x, BFloat16 &to) {
  to = toBFloat16(x);
}
static void narrow(float x, Float16 &to) {
  to = toFloat16(x);
}
static void narrow(float x, float &to) {
  to = x;
}
static void narrow(double x, double &to) {
  to = x;
}
static void narrow(uint32_t x, int32_t &to) {
  to = static_cast<int32_t>(x);
}

namespace {
struct AddTo {
  template <typename A> static A apply(A sum, A x) { return sum + x; }
};
struct KeepMax {
  static uint32_t apply(uint32_t most, uint32_t x) {
    return static_cast<int32_t>(most) > static_cast<int32_t>(x) ? most : x;
  }
  // A NaN on either side compares false and is kept.
  template <typename A> static A apply(A most, A x) { return most > x || most != most ? most : x; }
};
} // namespace

template <typename T, typename Operation>
static void reduce(std::span<const void *const> inputs, int64_t from, std::span<void *const> outputs, int64_t to,
                   int64_t count) {
  using A = decltype(widen(T{}));
  A sums[blockElements];
  T results[blockElements];
  for (int64_t start = 0; start < count; start += blockElements) {
    int64_t n = std::min(blockElements, count - start);
    const T *first = static_cast<const T *>(inputs[0]) + from + start;
    for (int64_t i = 0; i < n; ++i)
      sums[i] = widen(first[i]);
    for (const void *input : inputs.subspan(1)) {
      const T *values = static_cast<const T *>(input) + from + start;
      for (int64_t i = 0; i < n; ++i)
        sums[i] = Operation::apply(sums[i], widen(values[i]));
    }
    for (int64_t i = 0; i < n; ++i)
      narrow(sums[i], results[i]);
    for (void *output : outputs)
      std::memcpy(static_cast<T *>(output) + to + start, results, n * sizeof(T));
  }
}

/// The same, added in a tree.
template <typename T>
static void reduceInTree(std::span<const void *const> inputs, int64_t from, std::span<void *const> outputs, int64_t to,
                         int64_t count) {
  using A = decltype(widen(T{}));
  constexpr int64_t block = 128;
  A levels[mostSumTreeLevels][block];
  T results[block];
  for (int64_t start = 0; start < count; start += block) {
    int64_t n = std::min(block, count - start);
    sumInTree(
        static_cast<int64_t>(inputs.size()),
        [&](int64_t input, int64_t level) {
          const T *values = static_cast<const T *>(inputs[input]) + from + start;
          for (int64_t i = 0; i < n; ++i)
            levels[level][i] = widen(values[i]);
        },
        [&](int64_t level) {
          for (int64_t i = 0; i < n; ++i)
            levels[level][i] += levels[level + 1][i];
        });
    for (int64_t i = 0; i < n; ++i)
      narrow(levels[0][i], results[i]);
    for (void *output : outputs)
      std::memcpy(static_cast<T *>(output) + to + start, results, n * sizeof(T));
  }
}

template <typename T>
static void reduceAs(Reduction reduction, std::span<const void *const> inputs, int64_t from,
                     std::span<void *const> outputs, int64_t to, int64_t count) {
  if (reduction == Reduction::Sum)
    reduce<T, AddTo>(inputs, from, outputs, to, count);
  else if (reduction == Reduction::TreeSum)
    reduceInTree<T>(inputs, from, outputs, to, count);
  else
    reduce<T, KeepMax>(inputs, from, outputs, to, count);
}

void tgpt::runtime::reduceRange(DType dtype, Reduction reduction, std::span<const void *const> inputs,
                                int64_t fromOffset, std::span<void *const> outputs, int64_t toOffset, int64_t count) {
  switch (dtype) {
  case DType::F64: return reduceAs<double>(reduction, inputs, fromOffset, outputs, toOffset, count);
  case DType::F32: return reduceAs<float>(reduction, inputs, fromOffset, outputs, toOffset, count);
  case DType::BF16: return reduceAs<BFloat16>(reduction, inputs, fromOffset, outputs, toOffset, count);
  case DType::F16: return reduceAs<Float16>(reduction, inputs, fromOffset, outputs, toOffset, count);
  case DType::I32: return reduceAs<int32_t>(reduction, inputs, fromOffset, outputs, toOffset, count);
  }
}
