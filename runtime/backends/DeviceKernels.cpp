//===- DeviceKernels.cpp - device kernels as the engine sees them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/DeviceBackends.h"
#include "runtime/kernels/cuda/Queue.h"

#include <algorithm>

using namespace tgpt::runtime;

KernelSet tgpt::runtime::deviceKernels(std::string name, std::span<const cuda::DeviceKernel> table,
                                       double slowestFlopsPerSecond) {
  KernelSet set;
  set.name = std::move(name);
  set.slowestFlopsPerSecond = slowestFlopsPerSecond;
  set.find = [table](std::string_view opcode, const KernelCall &) -> ResolvedKernel {
    auto found = std::find_if(table.begin(), table.end(),
                              [&](const cuda::DeviceKernel &kernel) { return kernel.entry.name == opcode; });
    if (found == table.end())
      return {};
    return {found->entry.kernel.function, found->entry.kernel.check, found->workspaceBytes};
  };
  for (const cuda::DeviceKernel &kernel : table)
    set.opcodes.emplace_back(kernel.entry.name);
  return set;
}

void tgpt::runtime::useFusedKernels(DeviceBackend &backend, std::span<const cuda::FusedKernel> kernels) {
  backend.fuse = [kernels](std::span<const SegmentCall> segment) {
    std::vector<cuda::PlannedCall> calls;
    for (const SegmentCall &call : segment)
      calls.push_back({call.kernel, call.call});
    std::vector<FusedCalls> found;
    for (cuda::FusedCall &fused : cuda::findFusions(calls, kernels)) {
      size_t workspaceBytes = fused.kernel->workspaceBytes ? fused.kernel->workspaceBytes(fused.call()) : 0;
      found.push_back({fused.first, fused.second, fused.kernel->function, workspaceBytes, std::move(fused.inputs),
                       std::move(fused.outputs), std::move(fused.attributes)});
    }
    return found;
  };
}

void tgpt::runtime::useDeviceQueue(DeviceBackend &backend) {
  backend.bindQueue = [](const DeviceQueue &queue) {
    cuda::queue() = {queue.stream.handle, queue.workspace, queue.workspaceBytes, queue.fault};
  };
  backend.describeFault = [](int32_t fault) { return cuda::describe(static_cast<cuda::Fault>(fault)); };
}
