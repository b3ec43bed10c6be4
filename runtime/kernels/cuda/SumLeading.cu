//===- SumLeading.cu - sums over leading dimensions -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[t] = or += sum over l of x[l,t]. x T, y and sums A. Serves gradients of biases.
// Memory: x is read once; should run at 85% of the memory's bandwidth from 4096 columns
// or 1024 rows on. The order is that of ColumnSums.h; with attribute `chunks`, a chunk is
// a part.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/ColumnSums.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static ColumnSums sumsOf(const KernelCall &call) {
  int64_t width = call.outputs[0].elements(), rows = call.inputs[0].elements() / width;
  ChunkRange range = ChunkRange::of(*call.attributes);
  return call.attributes->integer("chunks") > 0
             ? ColumnSums{rows, width, 1, range.all, rows / range.all, range.first, range.count}
             : ColumnSums::ofAll(rows, width);
}

size_t sumLeadingWorkspace(const KernelCall &call) {
  int64_t width = call.outputs[0].elements();
  return size_t(cost::columnSumWorkspace(call.inputs[0].elements() / width, width, call.attributes->integer("chunks"),
                                         int64_t(sizeInBytes(call.outputs[0].dtype))));
}

KernelStatus sumLeading(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    return sumColumns(sumsOf(call), call.inputs[0].as<T>(), call.outputs[0].as<AccumulatorOf<T>>(),
                      call.accumulates(0));
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
