//===- SumPositions.cpp - sum over the positions of each sample ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[b,t] = sum over s of x[b,s,t]. x T, y and sums A. Each of `chunks` equal parts of s
// is summed in order, and these in a tree: the same bits on any number of threads, and
// whoever holds some of the chunks computes a sum that the whole contains.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/PartialSums.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus sumPositions(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t samples = x.dim(0), positions = x.dim(1), width = x.elements() / (samples * positions);
  int64_t chunks = std::max<int64_t>(call.attributes->integer("chunks"), 1), chunk = positions / chunks;
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    return SampleSums<A>(width, 1, ChunkRange::of(*call.attributes))
        .forEachSample(
            samples,
            [&](int64_t sample, int64_t c, A *sums) {
              const T *first = x.as<T>() + (sample * positions + c * chunk) * width;
              for (int64_t i = 0; i < chunk; ++i)
                addRow(first + i * width, sums, width);
            },
            [&](int64_t sample, const A *sums) { std::copy_n(sums, width, y.as<A>() + sample * width); });
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
