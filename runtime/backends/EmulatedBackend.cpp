//===- EmulatedBackend.cpp - devices, kernels and collectives on the host ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/DeviceBackends.h"
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/comm/nccl/emulation/EmulatedNccl.h"
#include "runtime/kernels/cuda/emulation/EmulatedAttention.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"

using namespace tgpt::runtime;

/// A tenth of what the emulator does where every block is full.
static constexpr double slowestFlopsPerSecond = 2e5;

std::shared_ptr<const DeviceBackend> tgpt::runtime::emulatedBackend(const EmulatedDeviceOptions &options) {
  auto backend = std::make_shared<DeviceBackend>();
  backend->device = std::make_shared<EmulatedDevice>(options);
  backend->kernels = deviceKernels("cuda-emulated", cuda::emulated::attentionTable(), slowestFlopsPerSecond);
  useFusedKernels(*backend, cuda::emulated::fusedKernels(), cuda::emulated::attentionTable());
  useDeviceQueue(*backend);
  backend->connect = [nccl = std::make_shared<EmulatedNccl>()](const DeviceTransportRequest &request) {
    return makeNcclTransport(request, nccl.get());
  };
  return backend;
}
