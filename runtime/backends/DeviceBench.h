//===- DeviceBench.h - the time of kernel calls on a device -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is captured many times in one graph, so that what is measured is the device and
// not how fast the host launches. Operands stay where they are: those that fit the cache
// may be faster than the memory.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_BACKENDS_DEVICEBENCH_H
#define TGPT_RUNTIME_BACKENDS_DEVICEBENCH_H

#include "runtime/engine/DeviceBackend.h"
#include "runtime/engine/DeviceHandles.h"
#include "runtime/kernels/bench/Workloads.h"

#include <memory>

namespace tgpt::runtime {

class DeviceBench {
public:
  /// On one of the backend's devices, which becomes the calling thread's.
  explicit DeviceBench(std::shared_ptr<const DeviceBackend> backend, int number = 0);

  std::string describe() const { return backend->device->describe(number); }
  /// Best time of one call over about `budgetSeconds` of repetitions, after a warm-up. Throws Error where the kernel
  /// refuses the call.
  double secondsOf(const Workload &workload, double budgetSeconds);
  /// What a copy within the device's memory moves, reads and writes together.
  double copyBytesPerSecond(size_t bytes, double budgetSeconds);

private:
  double bestSeconds(const std::function<void()> &issue, double budgetSeconds);

  std::shared_ptr<const DeviceBackend> backend;
  DeviceRuntime &device;
  int number;
  OwnedStream stream;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_BACKENDS_DEVICEBENCH_H
