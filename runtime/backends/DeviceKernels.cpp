//===- DeviceKernels.cpp - device kernels as the engine sees them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/DeviceBackends.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/fusion/CallGroup.h"

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
    return {found->entry.kernel.function, found->entry.kernel.check, found->workspaceBytes, found->libraryBytes};
  };
  for (const cuda::DeviceKernel &kernel : table)
    set.opcodes.emplace_back(kernel.entry.name);
  return set;
}

static void addPairs(std::span<const cuda::PlannedCall> calls, std::span<const cuda::FusedKernel> products,
                     std::vector<bool> &isTaken, std::vector<FusedCalls> &found) {
  for (cuda::FusedCall &pair : cuda::findFusions(calls, products)) {
    FusedCalls fused;
    fused.name = std::string(pair.kernel->first) + ", " + std::string(pair.kernel->second);
    fused.first = pair.first;
    fused.others = {pair.second};
    fused.function = pair.kernel->function;
    fused.workspaceBytes = pair.kernel->workspaceBytes ? pair.kernel->workspaceBytes(pair.call()) : 0;
    fused.inputs = std::move(pair.inputs);
    fused.outputs = std::move(pair.outputs);
    fused.attributes = std::move(pair.attributes);
    found.push_back(std::move(fused));
    isTaken[pair.first] = isTaken[pair.second] = true;
  }
}

static FusedCalls fusedCallsOf(cuda::CallGroup &group) {
  FusedCalls fused;
  fused.name = std::move(group.name);
  fused.first = group.calls.front();
  fused.others.assign(group.calls.begin() + 1, group.calls.end());
  fused.function = group.function;
  fused.workspaceBytes = group.workspaceBytes;
  fused.inputs = std::move(group.inputs);
  fused.outputs = std::move(group.outputs);
  fused.attributes = std::move(group.attributes);
  return fused;
}

void tgpt::runtime::useFusedKernels(DeviceBackend &backend, std::span<const cuda::FusedKernel> products,
                                    std::span<const cuda::DeviceKernel> table) {
  backend.fuse = [products, table](std::span<const SegmentCall> segment) {
    std::vector<cuda::PlannedCall> calls;
    for (const SegmentCall &call : segment)
      calls.push_back({call.kernel, call.call, call.isTakenOnce});
    std::vector<bool> isTaken(calls.size());
    std::vector<FusedCalls> found;
    addPairs(calls, products, isTaken, found);
    for (auto find : {cuda::findResidualNorms, cuda::findLossGradients, cuda::findTensorGroups})
      for (cuda::CallGroup &group : find(calls, table, isTaken))
        found.push_back(fusedCallsOf(group));
    return found;
  };
}

void tgpt::runtime::useDeviceQueue(DeviceBackend &backend) {
  backend.bindQueue = [](const DeviceQueue &queue) {
    cuda::queue() = {queue.stream.handle, queue.workspace, queue.workspaceBytes,
                     queue.fault,         queue.beside,    queue.besideBytes};
  };
  backend.describeFault = [](int32_t fault) { return cuda::describe(static_cast<cuda::Fault>(fault)); };
}
