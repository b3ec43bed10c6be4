//===- Cast.cu - rounding and accumulation over dtypes ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cast:       y = x in the dtype of y, rounded once to nearest even. To i32: NaN
//             becomes 0, values beyond i32 its nearest end.
// accumulate: y += x, added in the wider of the two dtypes (at least f32). Serves the
//             accumulation of gradients over micro-batches.
// A thread has 8 elements: 16 bytes of a 16-bit tensor. Memory: each byte once (of y
// twice in accumulate); should run at 90% of the memory's bandwidth.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

__device__ __forceinline__ double load(int32_t x) {
  return x;
}

namespace {
template <typename From, typename To> struct Cast {
  const From *x;
  To *y;
  template <int N> __device__ void apply(int64_t i) const {
    Pack<From, N> in = loadPack<N>(x + i);
    Pack<To, N> out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      convert(load(in.at[k]), out.at[k]);
    storePack(y + i, out);
  }
};

template <typename From, typename To> struct Accumulate {
  const From *x;
  To *y;
  template <int N> __device__ void apply(int64_t i) const {
    Pack<From, N> in = loadPack<N>(x + i);
    Pack<To, N> out = loadPack<N>(y + i);
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      convert(load(out.at[k]) + load(in.at[k]), out.at[k]);
    storePack(y + i, out);
  }
};
} // namespace

template <typename Function> static KernelStatus forAnyType(DType dtype, Function &&function) {
  return dtype == DType::I32 ? function(int32_t{}) : forRealType(dtype, function);
}

template <template <typename, typename> typename Operation, typename From, typename To>
static KernelStatus launchPair(const KernelCall &call) {
  Operation<From, To> o{call.inputs[0].as<From>(), call.outputs[0].as<To>()};
  return launchElements<8>(o, call.inputs[0].elements(), areAligned(o.x, o.y));
}

KernelStatus cast(const KernelCall &call) {
  return forAnyType(call.inputs[0].dtype, [&](auto from) -> KernelStatus {
    return forAnyType(call.outputs[0].dtype,
                      [&](auto to) -> KernelStatus { return launchPair<Cast, decltype(from), decltype(to)>(call); });
  });
}

KernelStatus accumulate(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto from) -> KernelStatus {
    return forRealType(call.outputs[0].dtype, [&](auto to) -> KernelStatus {
      return launchPair<Accumulate, decltype(from), decltype(to)>(call);
    });
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
