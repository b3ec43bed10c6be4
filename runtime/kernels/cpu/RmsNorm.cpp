//===- RmsNorm.cpp - RMS norm and its gradient ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// rstd = 1 / sqrt(mean(x^2) + epsilon), y = x rstd w.
// With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum over rows of dy x rstd.
// x, y, dy, dx T[rows,d], w T[d], rstd A[rows], dw A[d]; sums in A. A row is read
// from memory once. A row is summed by one thread; dw is summed per chunk of
// rows, chunks in order: the same bits on any number of threads. With attribute
// `chunks`, dw is [samples,d]: of each sample the tree over so many chunks of positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/PartialSums.h"
#include "runtime/kernels/cpu/RmsRow.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus rmsNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0], &rstd = call.outputs[1];
  int64_t d = x.dim(-1);
  double epsilon = call.attributes->real("epsilon");
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    forChunks(x.rows(), rowsPerChunk(d), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        AccumulatorOf<T> &r = rstd.as<AccumulatorOf<T>>()[i];
        r = rstdOfRow(x.as<T>() + i * d, d, epsilon);
        normRow(x.as<T>() + i * d, w.as<T>(), y.as<T>() + i * d, r, d);
      }
    });
    return {};
  });
}

KernelStatus rmsNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &w = call.inputs[2], &rstd = call.inputs[3];
  const TensorView &dx = call.outputs[0], &dw = call.outputs[1];
  int64_t d = x.dim(-1);
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    auto row = [&](int64_t i, A *own) {
      gradRow(dy.as<T>() + i * d, x.as<T>() + i * d, w.as<T>(), rstd.as<A>()[i], dx.as<T>() + i * d, own, d);
    };
    if (int64_t chunks = call.attributes->integer("chunks"); chunks > 0) {
      int64_t chunk = x.dim(1) / chunks;
      return SampleSums<A>(d, 1, ChunkRange::of(*call.attributes))
          .forEachSample(
              x.dim(0),
              [&](int64_t sample, int64_t c, A *own) { forRange((sample * chunks + c) * chunk, chunk, row, own); },
              [&](int64_t sample, const A *sums) { std::copy_n(sums, d, dw.as<A>() + sample * d); });
    }
    PartialSums<A> sums(x.rows(), d, 1);
    if (!sums.allocated())
      return {workspaceExhausted};
    sums.forEachChunk([&](int64_t begin, int64_t end, A *own) {
      for (int64_t i = begin; i < end; ++i)
        row(i, own);
    });
    sums.total(0, dw.as<A>(), call.accumulates(1));
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
