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

KernelStatus add(const KernelCall &call) {
  int64_t width = call.inputs[1].elements(), rows = call.inputs[0].elements() / width;
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *x = call.inputs[0].as<T>(), *y = call.inputs[1].as<T>();
    T *z = call.outputs[0].as<T>();
    auto addPart = [&](int64_t row, int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t j = begin; j < end; ++j)
        z[row * width + j] = store<T>(load(x[row * width + j]) + load(y[j]));
    };
    if (rows == 1)
      forChunks(width, chunkElements, [&](int64_t begin, int64_t end) { addPart(0, begin, end); });
    else
      forChunks(rows, rowsPerChunk(width), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          addPart(row, 0, width);
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
      for (const TensorView &input : call.inputs) {
        const T *x = input.as<T>() + begin;
#pragma omp simd
        for (int64_t i = 0; i < end - begin; ++i)
          sums[i] += load(x[i]);
      }
#pragma omp simd
      for (int64_t i = 0; i < end - begin; ++i)
        y[begin + i] = store<T>(sums[i]);
    };
    forChunks(call.inputs[0].elements(), chunkElements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += block)
        addBlock(at, std::min(end, at + block));
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
