//===- EmulatedDevices.h - jobs on emulated devices with host kernels -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emulated device memory is host memory, so kernels of the host run on it too: then all
// that differs from a job on the host is the device backend, and the bits must not.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_EMULATEDDEVICES_H
#define TGPT_TEST_UNIT_ENGINE_EMULATEDDEVICES_H

#include "runtime/device/EmulatedDevice.h"
#include "runtime/engine/EmulatedTransport.h"
#include "runtime/engine/Job.h"

#include <memory>

namespace tgpt::test {

inline std::shared_ptr<runtime::DeviceBackend> hostKernelsOnDevices(const runtime::KernelSet &kernels,
                                                                    runtime::EmulatedDeviceOptions options = {}) {
  auto backend = std::make_shared<runtime::DeviceBackend>();
  backend->device = std::make_shared<runtime::EmulatedDevice>(options);
  backend->kernels = kernels;
  backend->bindQueue = [](const runtime::DeviceQueue &) {};
  backend->describeFault = [](int32_t) -> const char * { return "a fault"; };
  backend->connect = runtime::connectEmulated;
  return backend;
}

inline runtime::JobOptions onDevices(std::shared_ptr<runtime::DeviceBackend> backend) {
  runtime::JobOptions options;
  options.device.backend = std::move(backend);
  return options;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_EMULATEDDEVICES_H
