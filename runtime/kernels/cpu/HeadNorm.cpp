//===- HeadNorm.cpp - RMS norm of each head and its gradient ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each head of c elements, with one weight for all: rstd = 1 / sqrt(mean(x^2) +
// epsilon), y = x rstd w. With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum
// over rows and heads of dy x rstd. rstd is computed anew in the gradient: a head is
// in the cache, and a stored one would be h numbers a row.
// x, y, dy, dx T[...,h*c], w T[c], dw A[c]; sums in A. A head is summed by one thread;
// dw is summed per chunk of heads, chunks in order: the same bits on any number of
// threads. With attribute `chunks`, dw is [samples,c]: of each sample the tree over so
// many chunks of heads, each summed over the positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/PartialSums.h"
#include "runtime/kernels/cpu/RmsRow.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus headNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1];
  int64_t c = w.dim(0);
  double epsilon = call.attributes->real("epsilon");
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    const T *from = x.as<T>(), *weight = w.as<T>();
    T *to = call.outputs[0].as<T>();
    forChunks(x.elements() / c, rowsPerChunk(c), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        normRow(from + i * c, weight, to + i * c, rstdOfRow(from + i * c, c, epsilon), c);
    });
    return {};
  });
}

KernelStatus headNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &w = call.inputs[2];
  int64_t c = w.dim(0), heads = x.elements() / c;
  double epsilon = call.attributes->real("epsilon");
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const T *from = x.as<T>(), *grad = dy.as<T>(), *weight = w.as<T>();
    T *to = call.outputs[0].as<T>();
    auto head = [&](int64_t i, A *own) {
      gradRow(grad + i * c, from + i * c, weight, rstdOfRow(from + i * c, c, epsilon), to + i * c, own, c);
    };
    if (int64_t chunks = call.attributes->integer("chunks"); chunks > 0) {
      int64_t positions = x.dim(1), headsOfRow = x.dim(2) / c, chunk = headsOfRow / chunks;
      return SampleSums<A>(c, 1, ChunkRange::of(*call.attributes))
          .forEachSample(
              x.dim(0),
              [&](int64_t sample, int64_t part, A *own) {
                for (int64_t s = sample * positions; s < (sample + 1) * positions; ++s)
                  forRange(s * headsOfRow + part * chunk, chunk, head, own);
              },
              [&](int64_t sample, const A *sums) { std::copy_n(sums, c, call.outputs[1].as<A>() + sample * c); });
    }
    PartialSums<A> sums(heads, c, 1);
    if (!sums.allocated())
      return {workspaceExhausted};
    sums.forEachChunk([&](int64_t begin, int64_t end, A *own) {
      for (int64_t i = begin; i < end; ++i)
        head(i, own);
    });
    sums.total(0, call.outputs[1].as<A>(), call.accumulates(1));
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
