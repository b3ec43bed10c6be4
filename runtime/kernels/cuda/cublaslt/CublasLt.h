//===- CublasLt.h - products through cuBLASLt ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `linear` (with its bias), `linear_dgrad` and `linear_wgrad` (adding to the gradient) in
// one call of the library each, in bf16, f16 and f32 with f32 accumulation, and the pairs
// of kernels in Fusion.h where the library has an algorithm for them. Calls in f64 or with
// attribute `chunks` go to the kernels of Linear.cu, whose order is fixed, and so do sums of
// `linear_dgrad_sum` in bf16 and f16, which are rounded once; in f32 that is a call an addend,
// each added to the ones before. The library may choose another order for another shape, but
// the same call gives the same bits: schemes that add in the order of arrival are excluded.
// Settings are in ProductOptions.h; a thread reads the file of algorithms before its first
// product, and writes what it chose when it ends.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_CUBLASLT_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_CUBLASLT_H

#include "runtime/kernels/cuda/cublaslt/Fusion.h"

namespace tgpt::runtime::cuda {

/// device::kernelTable() with the products through cuBLASLt, and the pairs that it does.
std::span<const DeviceKernel> cublasLtKernelTable();
std::span<const FusedKernel> cublasLtFusedKernels();

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_CUBLASLT_H
