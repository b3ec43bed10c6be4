//===- FailingDevice.h - a device of which one call fails -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Around an emulated device, for tests of what the engine makes of an error: the call of a
// kind and number, on one of the devices, throws what CudaDevice would. What a call puts
// into a stream can fail there too, when its turn comes, as an illegal access of a GPU does.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_FAILINGDEVICE_H
#define TGPT_TEST_UNIT_ENGINE_FAILINGDEVICE_H

#include "runtime/device/DeviceRuntime.h"
#include "runtime/plan/Error.h"

#include <atomic>
#include <memory>
#include <set>

namespace tgpt::test {

enum class DeviceCall {
  FreeBytes,
  Allocate,
  AllocateHost,
  CreateStream,
  CreateEvent,
  Record,
  Wait,
  IsDone,
  Copy,
  Fill,
  CopyNow,
  BeginCapture,
  EndCapture,
  LaunchGraph,
  LaunchKernel,
  EnqueueCollective,
  EnqueueMessage,
  RunKernel,
  RunCollective,
  RunMessage,
  Count
};

class FailingDevice : public runtime::DeviceRuntime {
public:
  FailingDevice(std::shared_ptr<runtime::DeviceRuntime> base, int victim, DeviceCall kind, int number)
      : base(std::move(base)), victim(victim), kind(kind), callsLeft(number) {}

  bool hasFailed() const { return failed; }

  std::string name() const override { return base->name(); }
  int count() const override { return base->count(); }
  std::string describe(int device) const override { return base->describe(device); }
  std::string address(int device) const override { return base->address(device); }
  std::string whyUnfit(int device) const override { return base->whyUnfit(device); }
  size_t freeBytes() const override { return pass(DeviceCall::FreeBytes), base->freeBytes(); }
  void select(int device) override {
    base->select(device);
    selected() = device;
  }
  void *allocate(size_t bytes) override { return pass(DeviceCall::Allocate), base->allocate(bytes); }
  void release(void *memory) noexcept override { base->release(memory); }
  void *allocateHost(size_t bytes) override { return pass(DeviceCall::AllocateHost), base->allocateHost(bytes); }
  void releaseHost(void *memory) noexcept override { base->releaseHost(memory); }
  runtime::DeviceStream createStream(std::string_view label) override {
    return pass(DeviceCall::CreateStream), base->createStream(label);
  }
  void destroy(runtime::DeviceStream stream) noexcept override { base->destroy(stream); }
  runtime::DeviceEvent createEvent() override { return pass(DeviceCall::CreateEvent), base->createEvent(); }
  void destroy(runtime::DeviceEvent event) noexcept override { base->destroy(event); }
  void record(runtime::DeviceEvent event, runtime::DeviceStream stream) override {
    pass(DeviceCall::Record), base->record(event, stream);
  }
  void wait(runtime::DeviceStream stream, runtime::DeviceEvent event) override {
    pass(DeviceCall::Wait), base->wait(stream, event);
  }
  bool isDone(runtime::DeviceEvent event) override { return pass(DeviceCall::IsDone), base->isDone(event); }
  void synchronize(runtime::DeviceStream stream) override { base->synchronize(stream); }
  void drain(runtime::DeviceStream stream) noexcept override { base->drain(stream); }
  void copy(runtime::DeviceStream stream, void *to, const void *from, size_t bytes) override {
    pass(DeviceCall::Copy), base->copy(stream, to, from, bytes);
  }
  void fill(runtime::DeviceStream stream, void *to, uint8_t byte, size_t bytes) override {
    pass(DeviceCall::Fill), base->fill(stream, to, byte, bytes);
  }
  void copyNow(void *to, const void *from, size_t bytes) override {
    pass(DeviceCall::CopyNow), base->copyNow(to, from, bytes);
  }
  void issue(runtime::DeviceStream stream, std::string_view what, std::span<const runtime::DeviceAccess> accesses,
             std::function<void()> enqueue) override {
    auto put = [&](std::function<void()> later) { base->issue(stream, what, accesses, std::move(later)); };
    pass(what, std::move(enqueue), put);
  }
  void issueKernel(runtime::DeviceStream stream, std::string_view what, std::span<const runtime::DeviceAccess> accesses,
                   std::function<void()> enqueue) override {
    auto put = [&](std::function<void()> later) { base->issueKernel(stream, what, accesses, std::move(later)); };
    pass(what, std::move(enqueue), put);
  }
  void letWaitForRanks(runtime::DeviceStream stream) override { base->letWaitForRanks(stream); }
  void beginCapture(runtime::DeviceStream stream) override {
    pass(DeviceCall::BeginCapture), base->beginCapture(stream);
  }
  runtime::DeviceGraph endCapture(runtime::DeviceStream stream) override {
    return pass(DeviceCall::EndCapture), base->endCapture(stream);
  }
  void abandonCapture(runtime::DeviceStream stream) noexcept override { base->abandonCapture(stream); }
  void launch(runtime::DeviceStream stream, runtime::DeviceGraph graph) override {
    pass(DeviceCall::LaunchGraph), base->launch(stream, graph);
  }
  void destroy(runtime::DeviceGraph graph) noexcept override { base->destroy(graph); }
  void touch(const void *memory, size_t bytes, bool writes) override { base->touch(memory, bytes, writes); }

  /// What it throws.
  static std::string text(DeviceCall kind) {
    static constexpr const char *calls[] = {"cudaMemGetInfo",
                                            "cudaMalloc",
                                            "cudaHostAlloc",
                                            "cudaStreamCreateWithFlags",
                                            "cudaEventCreateWithFlags",
                                            "cudaEventRecord",
                                            "cudaStreamWaitEvent",
                                            "cudaEventQuery",
                                            "cudaMemcpyAsync",
                                            "cudaMemsetAsync",
                                            "cudaMemcpy",
                                            "cudaStreamBeginCapture",
                                            "cudaStreamEndCapture",
                                            "cudaGraphLaunch",
                                            "a launch",
                                            "a collective's call",
                                            "a message's call",
                                            "a kernel",
                                            "a collective",
                                            "a message"};
    static_assert(std::size(calls) == static_cast<size_t>(DeviceCall::Count));
    return std::string(calls[static_cast<size_t>(kind)]) + ": the GPU has fallen off the bus";
  }

private:
  /// What is put into a stream: it fails when it is put there, or when it runs.
  void pass(std::string_view what, std::function<void()> enqueue,
            const std::function<void(std::function<void()>)> &put) {
    static const std::set<std::string_view> collectives = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    int offset = collectives.count(what) ? 1 : what == "send" || what == "recv" ? 2 : 0;
    auto later = static_cast<DeviceCall>(static_cast<int>(DeviceCall::RunKernel) + offset);
    pass(static_cast<DeviceCall>(static_cast<int>(DeviceCall::LaunchKernel) + offset));
    put([this, later, device = selected(), enqueue = std::move(enqueue)] {
      pass(later, device);
      enqueue();
    });
  }
  static int &selected() {
    thread_local int device = 0;
    return device;
  }
  void pass(DeviceCall at) const { pass(at, selected()); }
  void pass(DeviceCall at, int device) const {
    if (at != kind || device != victim || callsLeft.fetch_sub(1) != 0)
      return;
    failed = true;
    throw runtime::Error(text(kind));
  }

  std::shared_ptr<runtime::DeviceRuntime> base;
  int victim;
  DeviceCall kind;
  mutable std::atomic<int> callsLeft;
  mutable std::atomic<bool> failed{false};
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_FAILINGDEVICE_H
