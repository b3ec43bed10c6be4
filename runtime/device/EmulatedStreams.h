//===- EmulatedStreams.h - what an emulated device is made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of a device is under its one lock but the work itself, which runs without.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_EMULATEDSTREAMS_H
#define TGPT_RUNTIME_DEVICE_EMULATEDSTREAMS_H

#include "runtime/device/AccessOrder.h"
#include "runtime/device/EmulatedDevice.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace tgpt::runtime {

/// Something in a stream: a function to call, an event to record or one to wait for.
struct EmulatedDevice::Work {
  enum class Kind { Run, Record, Wait } kind = Kind::Run;
  std::string what;
  std::vector<DeviceAccess> accesses;
  std::function<void()> run;
  std::shared_ptr<Event> event;
  uint64_t number = 0; // of the event's records
  bool isOfGraph = false;
};

struct EmulatedDevice::Event {
  Device *device = nullptr;
  Stream *stream = nullptr;             // the one that records it
  uint64_t recorded = 0, completed = 0; // how many times
  uint64_t reached = 0;                 // completed, and nothing had failed yet
  AccessOrder::Clock clock;             // of the last record
  bool isCaptured = false;              // the last record was
  std::weak_ptr<Capture> capture;       // that it is in, while it lasts; what is captured holds its events
  std::vector<size_t> capturedClock;    // by the capture's branch
};

/// The streams of a capture and what came into them.
struct EmulatedDevice::Capture {
  std::thread::id thread;
  std::vector<Stream *> branches;          // the one that began it first
  std::vector<std::vector<size_t>> clocks; // by branch: the work of each branch that comes before what follows
  std::vector<size_t> counts;              // by branch: its work
  std::vector<std::pair<size_t, Work>> work;

  size_t branchOf(const Stream &stream) const;
  void add(size_t branch, Work item);
  void join(size_t branch, const std::vector<size_t> &clock);
};

struct EmulatedDevice::Graph {
  Device *device = nullptr;
  std::vector<std::pair<size_t, Work>> work;
  std::vector<Stream *> branches; // of its own, but the first, which is the stream that it is launched in
  std::map<Event *, std::shared_ptr<Event>> events; // its own, for those of the capture
};

struct EmulatedDevice::Stream {
  Device *device = nullptr;
  std::string label;
  int number = 0; // in the order of accesses
  std::deque<Work> work;
  uint64_t put = 0, done = 0, released = 0;
  bool stopping = false, mayWaitForRanks = false;
  std::shared_ptr<Capture> capture;
  std::thread thread;

  bool isReady() const;
  void serve();
};

struct EmulatedDevice::Device {
  std::mutex mutex;
  std::condition_variable changed;
  AccessOrder order;
  std::exception_ptr error; // of the first work that failed
  size_t allocated = 0;
  struct Block {
    size_t bytes = 0;
    bool isHost = false;
  };
  std::map<uintptr_t, Block> blocks; // by address
  std::map<void *, std::unique_ptr<Stream>> streams;
  std::map<void *, std::shared_ptr<Event>> events;
  std::map<void *, std::unique_ptr<Graph>> graphs;
  std::set<std::string, std::less<>> kernels; // that were used

  Stream *addStream(std::string label);
  /// Lets everything run that is in a stream by now.
  void releaseAll();
  const Block *blockOf(const void *begin, size_t bytes) const;
  /// Throws Error where there is no such memory.
  const Block &require(const void *begin, size_t bytes, std::string_view what) const;
  void throwIfFailed() const {
    if (error)
      std::rethrow_exception(error);
  }
  bool isCapturing(std::thread::id thread) const;
  /// A stream with work, which may wait for other ranks; null: none.
  const Stream *waitingStream() const;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_EMULATEDSTREAMS_H
