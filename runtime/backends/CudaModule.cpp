//===- CudaModule.cpp - GPUs, their kernels and products --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that is linked against CUDA: cudart, the device kernels, cuBLASLt.
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/CudaModule.h"
#include "runtime/backends/DeviceBackends.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#include "runtime/plan/Error.h"

using namespace tgpt::runtime;

/// A hundredth of a small GPU's.
static constexpr double slowestFlopsPerSecond = 1e10;

namespace {
/// Of a plan for one rank: it has nobody to talk to.
class NoTransport final : public DeviceTransport {
public:
  explicit NoTransport(const DeviceTransportRequest &request) : endpoints(request.grid.ranks()) {
    for (DeviceEndpoints &ends : endpoints) {
      ends.groups.resize(static_cast<size_t>(request.plan.groups_size()));
      ends.startedGroups = ends.groups;
      ends.senders.resize(static_cast<size_t>(request.plan.channels_size()));
      ends.receivers = ends.senders;
    }
  }
  const DeviceEndpoints &of(int64_t rank) const override { return endpoints[static_cast<size_t>(rank)]; }
  void check(int64_t) override {}
  void abort() noexcept override {}

private:
  std::vector<DeviceEndpoints> endpoints;
};
} // namespace

static std::unique_ptr<DeviceTransport> connect(const DeviceTransportRequest &request) {
  if (request.grid.ranks() > 1)
    throw Error("this build's CUDA backend has no communicators: the plan is for " +
                std::to_string(request.grid.ranks()) + " ranks, it runs plans of one");
  return std::make_unique<NoTransport>(request);
}

extern "C" void tgptMakeCudaBackend(DeviceBackend &backend) {
  backend.device = makeCudaDevice();
  backend.kernels = deviceKernels("cuda", cuda::cublasLtKernelTable(), slowestFlopsPerSecond);
  useFusedKernels(backend, cuda::cublasLtFusedKernels());
  useDeviceQueue(backend);
  backend.connect = connect;
  backend.deviceOf = [](int64_t rank) { return static_cast<int>(rank); };
}
