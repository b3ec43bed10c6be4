//===- EmulatedDevice.cpp - devices that are threads of the host -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, streams and events; captures and graphs are in EmulatedGraph.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/EmulatedDevice.h"
#include "runtime/device/EmulatedStreams.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

using namespace tgpt::runtime;

static constexpr size_t alignmentBytes = 256;

static thread_local int selectedDevice = 0;
static thread_local bool replays = false;

bool EmulatedDevice::isReplaying() {
  return replays;
}

bool EmulatedDevice::Stream::isReady() const {
  if (work.empty() || done >= released)
    return false;
  const Work &next = work.front();
  return next.kind != Work::Kind::Wait || device->error || next.event->completed >= next.number;
}

void EmulatedDevice::Stream::serve() {
  std::unique_lock lock(device->mutex);
  while (true) {
    device->changed.wait(lock, [&] { return stopping || isReady(); });
    if (stopping)
      return;
    Work next = std::move(work.front());
    work.pop_front();
    if (next.kind == Work::Kind::Record) {
      next.event->completed = std::max(next.event->completed, next.number);
      if (!device->error)
        next.event->reached = next.event->completed;
    }
    if (next.kind == Work::Kind::Run && !device->error) {
      lock.unlock();
      std::exception_ptr failure;
      replays = next.isOfGraph;
      try {
        next.run();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !device->error)
        device->error = failure;
    }
    ++done;
    device->changed.notify_all();
  }
}

EmulatedDevice::Stream *EmulatedDevice::Device::addStream(std::string label) {
  auto stream = std::make_unique<Stream>();
  Stream *added = stream.get();
  added->device = this;
  added->label = label;
  added->number = order.addStream(std::move(label));
  added->thread = std::thread([added] {
    ::pthread_setname_np(::pthread_self(), added->label.substr(0, 15).c_str());
    added->serve();
  });
  streams[added] = std::move(stream);
  return added;
}

void EmulatedDevice::Device::releaseAll() {
  for (auto &[handle, stream] : streams)
    stream->released = stream->put;
  changed.notify_all();
}

const EmulatedDevice::Stream *EmulatedDevice::Device::waitingStream() const {
  auto found = std::find_if(streams.begin(), streams.end(), [](const auto &entry) {
    return entry.second->mayWaitForRanks && entry.second->done < entry.second->put;
  });
  return found == streams.end() ? nullptr : found->second.get();
}

const EmulatedDevice::Device::Block *EmulatedDevice::Device::blockOf(const void *memory, size_t bytes) const {
  auto begin = reinterpret_cast<uintptr_t>(memory);
  auto after = blocks.upper_bound(begin);
  if (after == blocks.begin())
    return nullptr;
  const auto &[start, block] = *std::prev(after);
  return begin + bytes <= start + block.bytes ? &block : nullptr;
}

const EmulatedDevice::Device::Block &EmulatedDevice::Device::require(const void *begin, size_t bytes,
                                                                     std::string_view what) const {
  if (const Block *block = blockOf(begin, bytes))
    return *block;
  throw Error("'" + std::string(what) + "': " + std::to_string(bytes) +
              " bytes are not within one allocation of the device or of pinned host memory");
}

EmulatedDevice::EmulatedDevice(EmulatedDeviceOptions given) : options(given) {
  for (int i = 0; i < options.devices; ++i)
    devices.push_back(std::make_unique<Device>());
}

EmulatedDevice::~EmulatedDevice() {
  for (const std::unique_ptr<Device> &device : devices) {
    while (!device->streams.empty())
      destroy(DeviceStream{device->streams.begin()->first});
    for (const auto &[address, block] : device->blocks)
      std::free(reinterpret_cast<void *>(address));
  }
}

std::string EmulatedDevice::describe(int device) const {
  return "emulated device " + std::to_string(device);
}

EmulatedDevice::Device &EmulatedDevice::selected() const {
  if (selectedDevice >= count())
    throw Error("this thread's device is " + std::to_string(selectedDevice) + ", but there are only " +
                std::to_string(count()));
  return *devices[selectedDevice];
}

void EmulatedDevice::select(int device) {
  if (device < 0 || device >= count())
    throw Error("there is no device " + std::to_string(device) + ", only " + std::to_string(count()));
  selectedDevice = device;
}

size_t EmulatedDevice::freeBytes() const {
  Device &device = selected();
  std::lock_guard lock(device.mutex);
  return options.bytesPerDevice - device.allocated;
}

void *EmulatedDevice::allocate(size_t bytes) {
  Device &device = selected();
  std::lock_guard lock(device.mutex);
  if (device.isCapturing(std::this_thread::get_id()))
    throw Error("memory is allocated while a stream of this thread is captured");
  if (bytes > options.bytesPerDevice - device.allocated)
    throw Error("out of memory: " + std::to_string(bytes) + " bytes asked for, " +
                std::to_string(options.bytesPerDevice - device.allocated) + " are free");
  size_t rounded = (std::max<size_t>(bytes, 1) + alignmentBytes - 1) / alignmentBytes * alignmentBytes;
  void *memory = std::aligned_alloc(alignmentBytes, rounded);
  if (!memory)
    throw Error("the host has no memory for " + std::to_string(bytes) + " bytes of an emulated device");
  std::memset(memory, 0xff, bytes);
  device.blocks[reinterpret_cast<uintptr_t>(memory)] = {bytes, false};
  device.allocated += bytes;
  return memory;
}

void *EmulatedDevice::allocateHost(size_t bytes) {
  Device &device = selected();
  void *memory = std::malloc(std::max<size_t>(bytes, 1));
  if (!memory)
    throw Error("the host has no memory for " + std::to_string(bytes) + " bytes");
  std::memset(memory, 0xff, bytes);
  std::lock_guard lock(device.mutex);
  device.blocks[reinterpret_cast<uintptr_t>(memory)] = {bytes, true};
  return memory;
}

/// From any thread: the block says which device's it is.
void EmulatedDevice::release(void *memory) noexcept {
  for (const std::unique_ptr<Device> &device : devices) {
    std::lock_guard lock(device->mutex);
    auto found = device->blocks.find(reinterpret_cast<uintptr_t>(memory));
    if (found == device->blocks.end())
      continue;
    device->order.forget(memory, found->second.bytes);
    device->allocated -= found->second.isHost ? 0 : found->second.bytes;
    device->blocks.erase(found);
    std::free(memory);
    return;
  }
}

void EmulatedDevice::releaseHost(void *memory) noexcept {
  release(memory);
}

DeviceStream EmulatedDevice::createStream(std::string_view label) {
  Device &device = selected();
  std::lock_guard lock(device.mutex);
  return {device.addStream(std::string(label))};
}

void EmulatedDevice::destroy(DeviceStream handle) noexcept {
  auto *stream = static_cast<Stream *>(handle.handle);
  if (!stream)
    return;
  Device &device = *stream->device;
  {
    std::lock_guard lock(device.mutex);
    stream->stopping = true;
    device.changed.notify_all();
  }
  stream->thread.join();
  std::lock_guard lock(device.mutex);
  device.streams.erase(stream);
}

DeviceEvent EmulatedDevice::createEvent() {
  Device &device = selected();
  auto event = std::make_shared<Event>();
  event->device = &device;
  std::lock_guard lock(device.mutex);
  device.events[event.get()] = event;
  return {event.get()};
}

void EmulatedDevice::destroy(DeviceEvent handle) noexcept {
  auto *event = static_cast<Event *>(handle.handle);
  if (!event)
    return;
  Device &device = *event->device;
  std::lock_guard lock(device.mutex);
  device.events.erase(event);
}

/// Under the device's lock.
void EmulatedDevice::put(Stream &stream, Work work) {
  Device &device = *stream.device;
  if (stream.capture)
    return stream.capture->add(stream.capture->branchOf(stream), std::move(work));
  if (work.kind == Work::Kind::Run)
    device.order.add(stream.number, work.what, work.accesses);
  if (work.kind == Work::Kind::Record)
    work.event->clock = device.order.clockOf(stream.number);
  if (work.kind == Work::Kind::Wait)
    device.order.join(stream.number, work.event->clock);
  stream.work.push_back(std::move(work));
  ++stream.put;
  if (!options.isLazy) {
    stream.released = stream.put;
    device.changed.notify_all();
  }
}

void EmulatedDevice::record(DeviceEvent handle, DeviceStream streamHandle) {
  auto &stream = *static_cast<Stream *>(streamHandle.handle);
  Device &device = *stream.device;
  std::lock_guard lock(device.mutex);
  std::shared_ptr<Event> event = device.events.at(handle.handle);
  if (event->stream && event->stream != &stream)
    throw Error("an event of stream '" + event->stream->label + "' is recorded in stream '" + stream.label + "'");
  event->stream = &stream;
  event->capture = stream.capture;
  event->isCaptured = stream.capture != nullptr;
  if (!stream.capture) {
    uint64_t number = ++event->recorded;
    return put(stream, {Work::Kind::Record, {}, {}, {}, event, number});
  }
  Capture &capture = *stream.capture;
  size_t branch = capture.branchOf(stream);
  capture.add(branch, {Work::Kind::Record, {}, {}, {}, event, 0});
  event->capturedClock = capture.clocks[branch];
}

void EmulatedDevice::wait(DeviceStream streamHandle, DeviceEvent handle) {
  auto &stream = *static_cast<Stream *>(streamHandle.handle);
  Device &device = *stream.device;
  std::lock_guard lock(device.mutex);
  auto found = device.events.find(handle.handle);
  if (found == device.events.end())
    throw Error("stream '" + stream.label + "' waits for an event of another device");
  std::shared_ptr<Event> event = found->second;
  if (!event->stream)
    return; // never recorded: nothing to wait for
  std::shared_ptr<Capture> capture = event->capture.lock();
  if (stream.capture && stream.capture != capture)
    throw Error("stream '" + stream.label + "' is captured, but waits for an event of stream '" + event->stream->label +
                "' that is not in the capture");
  if (!event->isCaptured)
    return put(stream, {Work::Kind::Wait, {}, {}, {}, event, event->recorded});
  if (!capture)
    throw Error("stream '" + stream.label + "' waits for an event of stream '" + event->stream->label +
                "' that was recorded in a capture, which has ended");
  if (!stream.capture) { // joins the capture
    stream.capture = capture;
    capture->branches.push_back(&stream);
    capture->clocks.emplace_back();
    capture->counts.push_back(0);
  }
  size_t branch = capture->branchOf(stream);
  capture->join(branch, event->capturedClock);
  capture->add(branch, {Work::Kind::Wait, {}, {}, {}, event, 0});
}

bool EmulatedDevice::isDone(DeviceEvent handle) {
  auto &event = *static_cast<Event *>(handle.handle);
  Device &device = *event.device;
  std::lock_guard lock(device.mutex);
  if (event.isCaptured)
    throw Error("the host asks for an event of stream '" + event.stream->label + "' that was captured");
  device.releaseAll();
  if (event.reached < event.recorded) {
    device.throwIfFailed();
    return false;
  }
  device.order.joinHost(event.clock);
  return true;
}

void EmulatedDevice::synchronize(DeviceStream handle) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  Device &device = *stream.device;
  std::unique_lock lock(device.mutex);
  if (stream.capture)
    throw Error("the host waits for stream '" + stream.label + "', which is captured");
  device.releaseAll();
  device.changed.wait(lock, [&] { return device.error || stream.done == stream.put; });
  device.throwIfFailed();
  device.order.joinHost(device.order.clockOf(stream.number));
}

void EmulatedDevice::drain(DeviceStream handle) noexcept {
  auto &stream = *static_cast<Stream *>(handle.handle);
  Device &device = *stream.device;
  std::unique_lock lock(device.mutex);
  if (!device.error)
    device.error = std::make_exception_ptr(Error("the device was stopped"));
  device.releaseAll();
  device.changed.wait(lock, [&] { return stream.done == stream.put; });
}

void EmulatedDevice::copy(DeviceStream handle, void *to, const void *from, size_t bytes) {
  DeviceAccess accesses[] = {{from, bytes, false}, {to, bytes, true}};
  issue(handle, "copy", accesses, [=] { std::memmove(to, from, bytes); });
}

void EmulatedDevice::fill(DeviceStream handle, void *to, uint8_t byte, size_t bytes) {
  DeviceAccess access{to, bytes, true};
  issue(handle, "fill", {&access, 1}, [=] { std::memset(to, byte, bytes); });
}

void EmulatedDevice::copyNow(void *to, const void *from, size_t bytes) {
  Device &device = selected();
  std::unique_lock lock(device.mutex);
  if (device.isCapturing(std::this_thread::get_id()))
    throw Error("the host copies while a stream of this thread is captured");
  const Device::Block *target = device.blockOf(to, bytes), *source = device.blockOf(from, bytes);
  if (!(target && !target->isHost) && !(source && !source->isHost))
    throw Error("'copyNow': neither end of " + std::to_string(bytes) + " bytes is memory of the selected device");
  device.releaseAll();
  device.changed.wait(lock, [&] {
    return device.error || std::all_of(device.streams.begin(), device.streams.end(),
                                       [](const auto &entry) { return entry.second->done == entry.second->put; });
  });
  device.throwIfFailed();
  for (auto &[streamHandle, stream] : device.streams)
    device.order.joinHost(device.order.clockOf(stream->number));
  std::memcpy(to, from, bytes);
}

void EmulatedDevice::issue(DeviceStream handle, std::string_view what, std::span<const DeviceAccess> accesses,
                           std::function<void()> enqueue) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  Device &device = *stream.device;
  std::lock_guard lock(device.mutex);
  for (const DeviceAccess &access : accesses)
    device.require(access.begin, access.bytes, what);
  put(stream, {Work::Kind::Run, std::string(what), {accesses.begin(), accesses.end()}, std::move(enqueue), {}, 0});
}

void EmulatedDevice::issueKernel(DeviceStream handle, std::string_view what, std::span<const DeviceAccess> accesses,
                                 std::function<void()> enqueue) {
  Device &device = *static_cast<Stream *>(handle.handle)->device;
  {
    std::lock_guard lock(device.mutex);
    if (device.kernels.emplace(what).second)
      if (const Stream *waiting = device.waitingStream())
        throw Error("kernel '" + std::string(what) + "' is used for the first time while stream '" + waiting->label +
                    "' waits for another rank: a GPU that loads its code may wait for all streams");
  }
  issue(handle, what, accesses, std::move(enqueue));
}

void EmulatedDevice::letWaitForRanks(DeviceStream handle) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  std::lock_guard lock(stream.device->mutex);
  stream.mayWaitForRanks = true;
}

void EmulatedDevice::touch(const void *memory, size_t bytes, bool writes) {
  Device &device = selected();
  std::lock_guard lock(device.mutex);
  if (const Device::Block &block = device.require(memory, bytes, "touch"); !block.isHost)
    throw Error("the host uses device memory");
  device.order.touch({memory, bytes, writes});
}
