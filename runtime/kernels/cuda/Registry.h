//===- Registry.h - device kernels by name ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the table of the cpu kernels, with what a device needs beside: how much workspace a
// call takes from the queue (Queue.h).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_REGISTRY_H
#define TGPT_RUNTIME_KERNELS_CUDA_REGISTRY_H

#include "runtime/kernels/api/Registry.h"

namespace tgpt::runtime::cuda {

struct DeviceKernel {
  KernelEntry entry;
  /// Bytes of workspace for a call that passed its check; null: none.
  size_t (*workspaceBytes)(const KernelCall &call) = nullptr;
  /// Bytes that a library takes for the call instead, in the workspace or beside it; null or 0: none.
  size_t (*libraryBytes)(const KernelCall &call) = nullptr;
};

namespace device {
/// Built by nvcc: operands in device memory. Linked with tgpt_kernels_cuda.
std::span<const DeviceKernel> kernelTable();
} // namespace device

namespace emulated {
/// The same sources on the host. Linked with tgpt_kernels_cuda_emulated.
std::span<const DeviceKernel> kernelTable();
} // namespace emulated

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_REGISTRY_H
