//===- CudaDevice.h - the GPUs of this machine ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DeviceRuntime by cudart: every function is a call or two of the library, checked. It
// decides nothing, since only a GPU can try it out. Linked with tgpt_device_cuda, which is
// there where a toolkit is.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_CUDADEVICE_H
#define TGPT_RUNTIME_DEVICE_CUDADEVICE_H

#include "runtime/device/DeviceRuntime.h"

#include <memory>

namespace tgpt::runtime {

std::unique_ptr<DeviceRuntime> makeCudaDevice();

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_CUDADEVICE_H
