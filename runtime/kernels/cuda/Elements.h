//===- Elements.h - one element, or 16 bytes of them, a thread --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels without sums over elements. An operation is a struct of pointers with
//   template <int N> __device__ void apply(int64_t i) const;   elements [i, i + N)
// and is applied to N = Vector elements at a time, the last ones one by one. Bound by
// memory: each byte is read and written once, 16 at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ELEMENTS_H
#define TGPT_RUNTIME_KERNELS_CUDA_ELEMENTS_H

#include "runtime/kernels/cuda/Arithmetic.h"
#include "runtime/kernels/cuda/Launch.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr int elementThreads = 256;

template <int Vector, typename Operation>
__global__ void __launch_bounds__(elementThreads, 4) applyToElements(Operation operation, int64_t n) {
  int64_t step = int64_t(gridDim.x) * elementThreads * Vector;
  for (int64_t i = (int64_t(blockIdx.x) * elementThreads + threadIdx.x) * Vector; i < n; i += step) {
    if (i + Vector <= n)
      operation.template apply<Vector>(i);
    else
      for (int64_t j = i; j < n; ++j)
        operation.template apply<1>(j);
  }
}

/// `Vector` elements a thread where all the operation's addresses are `aligned`.
template <int Vector, typename Operation>
KernelStatus launchElements(const Operation &operation, int64_t n, bool aligned) {
  constexpr int64_t mostBlocks = 1 << 20;
  int64_t perBlock = int64_t(elementThreads) * (aligned ? Vector : 1);
  LaunchShape shape(unsigned(std::min(ceilDiv(n, perBlock), mostBlocks)), elementThreads);
  return aligned ? launch(shape, applyToElements<Vector, Operation>, operation, n)
                 : launch(shape, applyToElements<1, Operation>, operation, n);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ELEMENTS_H
