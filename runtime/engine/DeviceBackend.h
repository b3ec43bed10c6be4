//===- DeviceBackend.h - what a job on devices is given ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device, kernels for it, and ways between the devices of several ranks. runtime/backends
// puts together the two that there are: GPUs, and their emulation.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_DEVICEBACKEND_H
#define TGPT_RUNTIME_ENGINE_DEVICEBACKEND_H

#include "runtime/comm/DeviceCommunicator.h"
#include "runtime/device/DeviceRuntime.h"
#include "runtime/engine/KernelSet.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

/// Where a kernel call goes, and what it may use beside its operands.
struct DeviceQueue {
  DeviceStream stream;
  void *workspace = nullptr; // of the rank's arena
  size_t workspaceBytes = 0;
  int32_t *fault = nullptr; // in device memory: what the data does wrong; 0 is nothing
  void *beside = nullptr;   // device memory for libraries that need more than the workspace has
  size_t besideBytes = 0;
};

/// An instruction of a segment, in its order, at its addresses; without a kernel it is none.
struct SegmentCall {
  std::string_view kernel;
  KernelCall call;
  std::vector<bool> isTakenOnce; // of each output: one instruction of the plan takes it; empty: not known
};

/// One call that does several of a segment: it runs in the place of `first`, and the others are left out.
struct FusedCalls {
  std::string name; // "linear, gelu"
  size_t first = 0;
  std::vector<size_t> others;
  KernelFunction function = nullptr;
  size_t workspaceBytes = 0; // that it needs, of one of these calls'
  std::vector<TensorView> inputs, outputs;
  Attributes attributes;

  KernelCall call() const { return {inputs, outputs, &attributes}; }
};

/// Calls that do several instructions, and how many these are.
struct FusedCount {
  int64_t calls = 0, instructions = 0;
};

struct DeviceBackend {
  std::shared_ptr<DeviceRuntime> device;
  KernelSet kernels;
  /// Which calls of a segment are one for these kernels; null: none.
  std::function<std::vector<FusedCalls>(std::span<const SegmentCall> segment)> fuse;
  /// Makes a queue the calling thread's, for the kernels that it calls from now on.
  std::function<void(const DeviceQueue &)> bindQueue;
  /// "cross_entropy: a label is not below the vocabulary size"; null for none.
  std::function<const char *(int32_t fault)> describeFault;
  /// Collective where ranks are processes. Throws Error.
  std::function<std::unique_ptr<DeviceTransport>(const DeviceTransportRequest &)> connect;
};

/// What JobOptions say of devices.
struct DeviceOptions {
  std::shared_ptr<const DeviceBackend> backend; // null: ranks compute on the host
  bool usesGraphs = true;
  /// Waits for each instruction before the next is issued: errors name it, and it is what profiles and traces time.
  bool waitsForEach = false;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_DEVICEBACKEND_H
