//===- DeviceTensor.h - a tensor on a device and its host copy --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_NCCL_DEVICETENSOR_H
#define TGPT_TEST_UNIT_COMM_NCCL_DEVICETENSOR_H

#include "runtime/device/DeviceRuntime.h"
#include "test/unit/comm/HostTensor.h"

namespace tgpt::test {

/// A host tensor's copy in memory of the thread's device.
class DeviceTensor {
public:
  DeviceTensor(runtime::DeviceRuntime &device, HostTensor &host) : view(host.view), device(device), host(host) {
    view.data = device.allocate(host.bytes.size());
    device.copyNow(view.data, host.bytes.data(), host.bytes.size());
  }
  ~DeviceTensor() { device.release(view.data); }
  DeviceTensor(const DeviceTensor &) = delete;
  /// To the host; after all that is in the device's streams.
  void download() { device.copyNow(host.bytes.data(), view.data, host.bytes.size()); }

  TensorView view;

private:
  runtime::DeviceRuntime &device;
  HostTensor &host;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_NCCL_DEVICETENSOR_H
