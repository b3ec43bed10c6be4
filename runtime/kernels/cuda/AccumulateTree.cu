//===- AccumulateTree.cu - gradients of micro-batches in a tree -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called once a micro-batch, in order, with its number i of `micro_batches`. The
// outputs are the levels of the stack of api/SumTree.h: x is added to those that the low
// ones of i name and becomes the next level; the last micro-batch adds all that are left,
// and its sum is the highest level, the accumulator itself. x and levels A. The number
// is in device memory, so every level is an operand of the one launch.
// Memory: x, the levels that are full and one write; on average 3 elements moved for
// each. Should run at 90% of the memory's bandwidth.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Fault.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
inline constexpr int mostLevels = 31; // of an i32 number

template <typename A> struct AccumulateLevels {
  const A *x;
  const int32_t *number;
  A *levels[mostLevels];
  int count;
  uint32_t last;
  int32_t *fault;

  template <int N> __device__ void apply(int64_t i) const {
    uint32_t n = uint32_t(*number);
    if (n > last)
      return raise(fault, Fault::MicroBatchBeyondCount);
    Pack<A, N> sums = loadPack<N>(x + i);
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      sums.at[k] += A(0); // no level is -0
    bool isLast = n == last;
    int full = 0; // levels of neighbours that are complete with this one
    while (n >> full & 1)
      ++full;
    for (int level = 0; level < count; ++level)
      if ((n >> level & 1) && (isLast || level < full)) {
        Pack<A, N> in = loadPack<N>(levels[level] + i);
        TGPT_UNROLL
        for (int k = 0; k < N; ++k)
          sums.at[k] = in.at[k] + sums.at[k];
      }
    storePack(levels[isLast ? count - 1 : full] + i, sums);
  }
};
} // namespace

KernelStatus accumulateTree(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    AccumulateLevels<A> o{};
    o.x = call.inputs[0].as<A>(), o.number = call.inputs[1].as<int32_t>();
    o.count = int(call.outputs.size());
    o.last = uint32_t(call.attributes->integer("micro_batches") - 1);
    o.fault = queue().fault;
    bool aligned = areAligned(o.x);
    for (int level = 0; level < o.count; ++level) {
      o.levels[level] = call.outputs[level].as<A>();
      aligned = aligned && areAligned(o.levels[level]);
    }
    return launchElements<vectorOf<A>>(o, call.inputs[0].elements(), aligned);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
