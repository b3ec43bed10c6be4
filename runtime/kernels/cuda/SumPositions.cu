//===- SumPositions.cu - sums over the positions of each sample -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[b,t] = sum over s of x[b,s,t]. x T, y and sums A. Memory: x is read once; should run
// at 85% of the memory's bandwidth. Each of `chunks` equal parts of s is summed apart, in
// the order of ColumnSums.h, and these in a tree.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/ColumnSums.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static ColumnSums sumsOf(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  ChunkRange range = ChunkRange::of(*call.attributes);
  return {x.dim(0) * x.dim(1), x.dim(2), x.dim(0), range.all, x.dim(1) / range.all, range.first, range.count};
}

size_t sumPositionsWorkspace(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return size_t(cost::sampleSumWorkspace(x.dim(0), x.dim(2), call.attributes->integer("chunks"),
                                         int64_t(sizeInBytes(call.outputs[0].dtype))));
}

KernelStatus sumPositions(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    return sumColumns(sumsOf(call), call.inputs[0].as<T>(), call.outputs[0].as<AccumulatorOf<T>>(), false);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
