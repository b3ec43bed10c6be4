//===- EmulatedDevice.h - devices that are threads of the host --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory is host memory, a stream a thread that takes its work in order. For tests
// of what is above, so it is as unkind as a GPU may be, and says what a GPU would not:
//
//   lazy            nothing runs before the host waits for something, so what the host reads
//                   too early is never there yet
//   unordered       two streams, or a stream and the host, use the same bytes without an
//                   event or wait between them (AccessOrder.h)
//   out of bounds   bytes that are not within one allocation
//   deadlock        a kernel is used for the first time, or a capture begins, while a stream
//                   waits for other ranks
//   capture         of a stream that waits for an event from outside, or ends without
//                   having waited for the others; waiting or allocating meanwhile
//   fresh memory    is full of NaN
//
// Each is an Error where it is asked for. An exception out of a piece of work stops its
// device, as an illegal access stops a GPU: later work is skipped, queries throw it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_EMULATEDDEVICE_H
#define TGPT_RUNTIME_DEVICE_EMULATEDDEVICE_H

#include "runtime/device/DeviceRuntime.h"

#include <memory>
#include <vector>

namespace tgpt::runtime {

struct EmulatedDeviceOptions {
  int devices = 64;
  bool isLazy = true;
  size_t bytesPerDevice = size_t(1) << 40;
};

class EmulatedDevice final : public DeviceRuntime {
public:
  explicit EmulatedDevice(EmulatedDeviceOptions options = {});
  ~EmulatedDevice() override;

  std::string name() const override { return "cuda-emulated"; }
  int count() const override { return options.devices; }
  std::string describe(int device) const override;
  std::string address(int device) const override { return "emulated " + std::to_string(device); }
  size_t freeBytes() const override;
  void select(int device) override;

  void *allocate(size_t bytes) override;
  void release(void *deviceMemory) noexcept override;
  void *allocateHost(size_t bytes) override;
  void releaseHost(void *hostMemory) noexcept override;

  DeviceStream createStream(std::string_view label) override;
  void destroy(DeviceStream stream) noexcept override;
  DeviceEvent createEvent() override;
  void destroy(DeviceEvent event) noexcept override;

  void record(DeviceEvent event, DeviceStream stream) override;
  void wait(DeviceStream stream, DeviceEvent event) override;
  bool isDone(DeviceEvent event) override;
  void synchronize(DeviceStream stream) override;
  void drain(DeviceStream stream) noexcept override;

  void copy(DeviceStream stream, void *to, const void *from, size_t bytes) override;
  void fill(DeviceStream stream, void *to, uint8_t byte, size_t bytes) override;
  void copyNow(void *to, const void *from, size_t bytes) override;
  void issue(DeviceStream stream, std::string_view what, std::span<const DeviceAccess> accesses,
             std::function<void()> enqueue) override;
  void issueKernel(DeviceStream stream, std::string_view what, std::span<const DeviceAccess> accesses,
                   std::function<void()> enqueue) override;
  void letWaitForRanks(DeviceStream stream) override;

  void beginCapture(DeviceStream stream) override;
  DeviceGraph endCapture(DeviceStream stream) override;
  void abandonCapture(DeviceStream stream) noexcept override;
  void launch(DeviceStream stream, DeviceGraph graph) override;
  void destroy(DeviceGraph graph) noexcept override;

  void touch(const void *hostMemory, size_t bytes, bool writes) override;

  /// Of the work that the calling thread, a stream's, is at: whether it came out of a graph.
  static bool isReplaying();

private:
  struct Device;
  struct Stream;
  struct Event;
  struct Capture;
  struct Graph;
  struct Work;
  Device &selected() const;
  void put(Stream &stream, Work work);

  EmulatedDeviceOptions options;
  std::vector<std::unique_ptr<Device>> devices;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_EMULATEDDEVICE_H
