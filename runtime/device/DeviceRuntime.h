//===- DeviceRuntime.h - memory, streams, events and graphs of a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the engine asks of an accelerator. Two implementations: CudaDevice, a call of
// cudart for each function, and EmulatedDevice, whose streams are threads of the host and
// which refuses what a GPU would answer with wrong numbers: two accesses to the same bytes
// that no event orders, host memory used while a copy is under way, a capture that is not
// joined.
//
// A call returns when its work is in the stream, not when it is done. Work that fails
// makes every later query of the device throw. All functions throw Error, but those that
// free. Handles belong to the device that was selected on the thread that made them.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_DEVICERUNTIME_H
#define TGPT_RUNTIME_DEVICE_DEVICERUNTIME_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tgpt::runtime {

/// A queue of a device; the handle is a cudaStream_t where the device is a GPU.
struct DeviceStream {
  void *handle = nullptr;
};
/// A point in a stream.
struct DeviceEvent {
  void *handle = nullptr;
};
/// What was captured, ready to run.
struct DeviceGraph {
  void *handle = nullptr;
};

/// Bytes that some work reads or writes.
struct DeviceAccess {
  const void *begin = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

class DeviceRuntime {
public:
  virtual ~DeviceRuntime() = default;

  /// "cuda", "cuda-emulated".
  virtual std::string name() const = 0;
  /// Devices that this process sees. Throws where there is no driver for them.
  virtual int count() const = 0;
  /// "NVIDIA H100 80GB HBM3".
  virtual std::string describe(int device) const = 0;
  /// "0000:41:00.0": no other device of the machine has it, whatever its number is in other processes.
  virtual std::string address(int device) const = 0;
  /// Empty, or why this build's kernels cannot run on it.
  virtual std::string whyUnfit(int) const { return ""; }
  /// Of the selected device: bytes that may still be allocated.
  virtual size_t freeBytes() const = 0;
  /// Makes a device the calling thread's, for all that follows.
  virtual void select(int device) = 0;

  /// Device memory, 256-byte aligned, with anything in it.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *deviceMemory) noexcept = 0;
  /// Host memory that streams copy from and to.
  virtual void *allocateHost(size_t bytes) = 0;
  virtual void releaseHost(void *hostMemory) noexcept = 0;

  /// `label` is for messages ("compute").
  virtual DeviceStream createStream(std::string_view label) = 0;
  virtual void destroy(DeviceStream stream) noexcept = 0;
  virtual DeviceEvent createEvent() = 0;
  virtual void destroy(DeviceEvent event) noexcept = 0;

  /// The event is everything that is in the stream by now.
  virtual void record(DeviceEvent event, DeviceStream stream) = 0;
  /// What comes into the stream from now on begins after the event as it was last recorded.
  virtual void wait(DeviceStream stream, DeviceEvent event) = 0;
  /// Whether everything up to there is done. Throws what work on the device came to.
  virtual bool isDone(DeviceEvent event) = 0;
  virtual void synchronize(DeviceStream stream) = 0;
  /// After a failure: forgets what has not begun, and returns when nothing runs in the stream any more.
  virtual void drain(DeviceStream stream) noexcept = 0;

  /// Between device memory and memory of allocateHost, in any direction.
  virtual void copy(DeviceStream stream, void *to, const void *from, size_t bytes) = 0;
  virtual void fill(DeviceStream stream, void *to, uint8_t byte, size_t bytes) = 0;
  /// Between device memory and any host memory, after all that is in the device's streams; done on return.
  virtual void copyNow(void *to, const void *from, size_t bytes) = 0;

  /// Puts into the stream what `enqueue` launches there: kernels, collectives. On a GPU it is called at once; it must
  /// leave nothing but work of this stream. An emulated device calls it, on a thread of its own, when the stream comes
  /// to it, once for each time a graph that has it is launched: what it refers to lives as long. `what` names it in
  /// messages, `accesses` are all bytes that it uses. It may throw.
  virtual void issue(DeviceStream stream, std::string_view what, std::span<const DeviceAccess> accesses,
                     std::function<void()> enqueue) = 0;
  /// The same, of a kernel, ours or a library's. A GPU loads a kernel's code when it is first used, for which it may
  /// wait until nothing runs in any of its streams: so a kernel is used once before anything waits for other ranks.
  virtual void issueKernel(DeviceStream stream, std::string_view what, std::span<const DeviceAccess> accesses,
                           std::function<void()> enqueue) {
    issue(stream, what, accesses, std::move(enqueue));
  }
  /// What comes into the stream may wait for other ranks however long; what they wait for may be in other streams.
  /// While it does, nothing may begin that waits for all streams: a kernel's first use, a capture (its graph takes
  /// memory).
  virtual void letWaitForRanks(DeviceStream) {}

  /// From here to endCapture nothing is run: what comes into the stream, and into streams that wait for events of it,
  /// becomes a graph. Those streams' work must have been waited for by this one at the end.
  virtual void beginCapture(DeviceStream stream) = 0;
  virtual DeviceGraph endCapture(DeviceStream stream) = 0;
  /// Ends a capture that failed.
  virtual void abandonCapture(DeviceStream stream) noexcept = 0;
  virtual void launch(DeviceStream stream, DeviceGraph graph) = 0;
  virtual void destroy(DeviceGraph graph) noexcept = 0;

  /// The host is about to use memory of allocateHost. A GPU cannot tell whether it may; an emulated device does.
  virtual void touch(const void *hostMemory, size_t bytes, bool writes) = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_DEVICERUNTIME_H
