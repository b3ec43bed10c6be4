//===- EmulatedBackend.cpp - devices, kernels and collectives on the host ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/DeviceBackends.h"
#include "runtime/engine/EmulatedTransport.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"

using namespace tgpt::runtime;

/// A tenth of what the emulator does where every block is full.
static constexpr double slowestFlopsPerSecond = 2e5;

std::shared_ptr<const DeviceBackend> tgpt::runtime::emulatedBackend(const EmulatedDeviceOptions &options) {
  auto backend = std::make_shared<DeviceBackend>();
  backend->device = std::make_shared<EmulatedDevice>(options);
  backend->kernels = deviceKernels("cuda-emulated", cuda::emulated::productTable(), slowestFlopsPerSecond);
  useFusedKernels(*backend, cuda::emulated::fusedKernels());
  useDeviceQueue(*backend);
  backend->connect = connectEmulated;
  backend->deviceOf = [](int64_t rank) { return static_cast<int>(rank); };
  return backend;
}
