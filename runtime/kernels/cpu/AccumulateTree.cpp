//===- AccumulateTree.cpp - add one of a row of addends to a tree ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called once a micro-batch, in order, with its number i of `micro_batches`. The
// outputs are the levels of the stack of api/SumTree.h: the partial sums of 1, 2, 4, ...
// micro-batches that wait for their neighbour. x is added to those that the low ones
// of i name and becomes the next level; the last micro-batch adds all that are left,
// and its sum is the highest level, the accumulator itself.
// x and levels A. A sum begins with x + 0, so that no level is -0. No sums over
// elements: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

template <typename A> static void addLevel(const A *level, A *sums, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    sums[i] = level[i] + sums[i];
}

template <typename A> static void addZero(const A *x, A *sums, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    sums[i] = x[i] + A(0);
}

KernelStatus accumulateTree(const KernelCall &call) {
  constexpr int64_t block = 1024; // sums of a block stay in the first-level cache
  const TensorView &x = call.inputs[0];
  uint64_t number = uint64_t(*call.inputs[1].as<int32_t>());
  uint64_t last = uint64_t(call.attributes->integer("micro_batches") - 1);
  if (number > last)
    return {"accumulate_tree: the micro-batch's number is not below their count"};
  return forAccumulatorType(x.dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    size_t top = call.outputs.size() - 1, full = 0;
    while (number >> full & 1) // neighbours that are complete with this one
      ++full;
    bool isLast = number == last;
    forChunks(x.elements(), chunkElements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += block) {
        A sums[block];
        int64_t n = std::min(block, end - at);
        addZero(x.as<A>() + at, sums, n);
        for (size_t level = 0; level <= top; ++level)
          if ((number >> level & 1) && (isLast || level < full))
            addLevel(call.outputs[level].as<A>() + at, sums, n);
        std::copy_n(sums, n, call.outputs[isLast ? top : full].as<A>() + at);
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
