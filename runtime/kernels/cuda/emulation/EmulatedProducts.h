//===- EmulatedProducts.h - what cuBLASLt does, on the host ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A provider of products (cublaslt/ProductKernels.h) that computes what a product's
// description says, column by column, with sums in f32: it judges the descriptions, and an
// emulated device trains with it. It supports every epilogue.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDPRODUCTS_H
#define TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDPRODUCTS_H

#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"
#include "runtime/kernels/cuda/cublaslt/Fusion.h"

namespace tgpt::runtime::cuda::emulated {

/// Operands of one of f32, bf16 and f16.
KernelStatus multiply(const ColumnMajorProduct &product);

/// kernelTable() with products through multiply, and the pairs of kernels that it does.
std::span<const DeviceKernel> productTable();
std::span<const FusedKernel> fusedKernels();

} // namespace tgpt::runtime::cuda::emulated

#endif // TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDPRODUCTS_H
