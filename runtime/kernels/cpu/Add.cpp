//===- Add.cpp - sums of tensors --------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add:   z[l,t] = x[l,t] + y[t]; z may be x.
// add_n: y = x0 + x1 + ..., in operand order, in A, rounded once; y may be x0.
// No sums over elements: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

template <typename T> static void addRange(const T *x, const T *y, T *z, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    z[j] = store<T>(load(x[j]) + load(y[j]));
}

template <typename T> static void accumulateRange(const T *x, AccumulatorOf<T> *sums, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    sums[i] += load(x[i]);
}

template <typename T> static void storeRange(const AccumulatorOf<T> *sums, T *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    y[i] = store<T>(sums[i]);
}

KernelStatus add(const KernelCall &call) {
  int64_t width = call.inputs[1].elements(), rows = call.inputs[0].elements() / width;
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *x = call.inputs[0].as<T>(), *y = call.inputs[1].as<T>();
    T *z = call.outputs[0].as<T>();
    if (rows == 1)
      forChunks(width, chunkElements,
                [=](int64_t begin, int64_t end) { addRange(x + begin, y + begin, z + begin, end - begin); });
    else
      forChunks(rows, rowsPerChunk(width), [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          addRange(x + row * width, y, z + row * width, width);
      });
    return {};
  });
}

KernelStatus addN(const KernelCall &call) {
  constexpr int64_t block = 1024; // sums of a block stay in the first-level cache
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    T *y = call.outputs[0].as<T>();
    auto addBlock = [&](int64_t begin, int64_t end) {
      AccumulatorOf<T> sums[block] = {};
      for (const TensorView &input : call.inputs)
        accumulateRange(input.as<T>() + begin, sums, end - begin);
      storeRange(sums, y + begin, end - begin);
    };
    forChunks(call.inputs[0].elements(), chunkElements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += block)
        addBlock(at, std::min(end, at + block));
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
