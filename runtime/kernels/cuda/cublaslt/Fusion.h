//===- Fusion.h - two calls that one product does --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan has calls of plain kernels, the same for every backend. Where a product with an
// epilogue does two of them, a backend may run that in their place:
//
//   linear, gelu               x, w, optional bias -> y, gelu(y)
//   linear_dgrad, gelu_grad    dy, w, x -> gelu_grad(dy w, x), whose result lies where dy w
//                              would: nobody else takes that
//   linear_wgrad, sum_leading  dy, x -> dw, dbias, both (acc)
//
// It runs where the first call stands. So the second one moves up: nothing in between may
// touch what it writes, or write what it reads; and since all is read and written at once,
// results must not lie over operands of either call, as they may in a plan whose first
// call has ended before the second one begins.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_FUSION_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_FUSION_H

#include "runtime/kernels/cuda/Registry.h"
#include "runtime/kernels/cuda/fusion/CallOrder.h"

namespace tgpt::runtime::cuda {

struct FusedKernel {
  std::string_view first, second;
  KernelFunction function = nullptr;
  size_t (*workspaceBytes)(const KernelCall &call) = nullptr;
};

/// Runs in the place of call `first`; call `second` is left out.
struct FusedCall {
  size_t first = 0, second = 0;
  const FusedKernel *kernel = nullptr;
  std::vector<TensorView> inputs, outputs;
  Attributes attributes;

  KernelCall call() const { return {inputs, outputs, &attributes}; }
};

/// The calls that may be fused, each in one of them, by ascending `first`. Operands have their
/// addresses; a call is looked for up to `mostDistance` instructions further on.
inline constexpr size_t mostDistance = 8;
std::vector<FusedCall> findFusions(std::span<const PlannedCall> calls, std::span<const FusedKernel> kernels);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_FUSION_H
