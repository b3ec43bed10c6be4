//===- DeviceHandles.h - who owns streams, events and device memory ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_DEVICEHANDLES_H
#define TGPT_RUNTIME_ENGINE_DEVICEHANDLES_H

#include "runtime/device/DeviceRuntime.h"

#include <utility>

namespace tgpt::runtime {

/// A stream, event or graph that ends with its owner.
template <typename Handle> class Owned {
public:
  Owned() = default;
  Owned(DeviceRuntime &device, Handle handle) : device(&device), handle(handle) {}
  Owned(Owned &&other) noexcept : device(std::exchange(other.device, nullptr)), handle(other.handle) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Owned() {
    if (device)
      device->destroy(handle);
  }
  explicit operator bool() const { return device != nullptr; }
  operator Handle() const { return handle; }

private:
  DeviceRuntime *device = nullptr;
  Handle handle;
};
using OwnedStream = Owned<DeviceStream>;
using OwnedEvent = Owned<DeviceEvent>;
using OwnedGraph = Owned<DeviceGraph>;

/// Memory of a device, or of the host for copies from and to it.
class DeviceBlock {
public:
  enum class Where { Device, Host };
  DeviceBlock() = default;
  DeviceBlock(DeviceRuntime &device, Where where, size_t bytes)
      : device(&device), where(where), size(bytes),
        memory(where == Where::Device ? device.allocate(bytes) : device.allocateHost(bytes)) {}
  DeviceBlock(DeviceBlock &&other) noexcept { *this = std::move(other); }
  DeviceBlock &operator=(DeviceBlock &&other) noexcept {
    std::swap(device, other.device);
    std::swap(where, other.where);
    std::swap(size, other.size);
    std::swap(memory, other.memory);
    return *this;
  }
  ~DeviceBlock() {
    if (device)
      where == Where::Device ? device->release(memory) : device->releaseHost(memory);
  }
  std::byte *base() const { return static_cast<std::byte *>(memory); }
  size_t bytes() const { return size; }

private:
  DeviceRuntime *device = nullptr;
  Where where = Where::Device;
  size_t size = 0;
  void *memory = nullptr;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_DEVICEHANDLES_H
