//===- Cudnn.h - attention through cuDNN ------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNN_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNN_H

#include "runtime/kernels/cuda/Registry.h"

namespace tgpt::runtime::cuda {

/// cublasLtKernelTable() with attention by cuDNN or by our kernels, as AttentionOptions say.
std::span<const DeviceKernel> cudnnKernelTable();

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNN_H
