//===- KernelTable.h - a device kernel by its name --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_KERNELTABLE_H
#define TGPT_RUNTIME_KERNELS_CUDA_KERNELTABLE_H

#include "runtime/kernels/cuda/Registry.h"

namespace tgpt::runtime::cuda {

/// The kernel `name` of a table, which has it.
const DeviceKernel &kernelOf(std::span<const DeviceKernel> table, std::string_view name);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_KERNELTABLE_H
