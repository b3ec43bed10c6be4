//===- SumLeading.cpp - sum over leading dimensions -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[t] = or += sum over l of x[l,t]. x T, y and sums A. Chunks of l are summed
// apart and added in order: the same bits on any number of threads. With attribute
// `chunks`, so many equal parts of l are summed in order, and these in a tree.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/PartialSums.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus sumLeading(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t width = y.elements(), rows = x.elements() / width;
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    if (ChunkRange range = ChunkRange::of(*call.attributes); call.attributes->integer("chunks") > 0)
      return sumRowsInTree(range.count, width, y.as<A>(), call.accumulates(0),
                           [&](int64_t chunk, int64_t begin, int64_t end, A *sums) {
                             int64_t size = rows / range.all, first = (range.first + chunk) * size;
                             for (int64_t i = first; i < first + size; ++i)
                               addRow(x.as<T>() + i * width + begin, sums, end - begin);
                           });
    PartialSums<A> sums(rows, width, 1);
    if (!sums.allocated())
      return {workspaceExhausted};
    sums.forEachChunk([&](int64_t begin, int64_t end, A *own) {
      for (int64_t i = begin; i < end; ++i)
        addRow(x.as<T>() + i * width, own, width);
    });
    sums.total(0, y.as<A>(), call.accumulates(0));
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
