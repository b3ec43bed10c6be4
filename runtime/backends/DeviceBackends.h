//===- DeviceBackends.h - the devices that a job may run on -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_BACKENDS_DEVICEBACKENDS_H
#define TGPT_RUNTIME_BACKENDS_DEVICEBACKENDS_H

#include "runtime/device/EmulatedDevice.h"
#include "runtime/engine/DeviceBackend.h"
#include "runtime/kernels/cuda/Registry.h"
#include "runtime/kernels/cuda/cublaslt/Fusion.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tgpt::runtime {

/// The GPUs of this machine. What it needs of CUDA is in a library of its own, beside the program, which is loaded
/// here. Throws Error where this build has none, or the machine no GPU.
std::shared_ptr<const DeviceBackend> cudaBackend();

/// Of a library that tgpt-cuda.so needs and the loader does not find: ": " and what to do; empty for other errors.
/// `loaderSays` is dlerror()'s text ("libcudnn.so.9: cannot open shared object file: ...").
std::string whatLibraryIsMissing(std::string_view loaderSays);

/// The same kernels and engine on the host, one thread a stream; ranks are threads.
std::shared_ptr<const DeviceBackend> emulatedBackend(const EmulatedDeviceOptions &options = {});

/// Device kernels as a kernel set.
KernelSet deviceKernels(std::string name, std::span<const cuda::DeviceKernel> table, double slowestFlopsPerSecond);

/// Pairs of calls that a product of `products` does (cublaslt/Fusion.h), and calls that a kernel of `table` takes
/// together (fusion/CallGroup.h).
void useFusedKernels(DeviceBackend &backend, std::span<const cuda::FusedKernel> products,
                     std::span<const cuda::DeviceKernel> table);

/// The queue and the faults of runtime/kernels/cuda.
void useDeviceQueue(DeviceBackend &backend);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_BACKENDS_DEVICEBACKENDS_H
