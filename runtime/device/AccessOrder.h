//===- AccessOrder.h - accesses that nothing orders -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows what an event or a wait of the host puts in order, with a vector clock for each
// stream and one for the host. Two accesses to the same bytes, one of them a write, must be
// in order: it does not matter whether they would really have met in this run. So a missing
// wait is found every time, and the error says between which two pieces of work.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_ACCESSORDER_H
#define TGPT_RUNTIME_DEVICE_ACCESSORDER_H

#include "runtime/device/DeviceRuntime.h"

#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

class AccessOrder {
public:
  /// How much of each stream has happened before.
  using Clock = std::vector<uint64_t>;

  /// The number of a new stream.
  int addStream(std::string label);
  /// New work of a stream; the host has made it, so all that the host has waited for comes before. Throws Error.
  void add(int stream, std::string_view what, std::span<const DeviceAccess> accesses);
  const Clock &clockOf(int stream) const { return clocks[stream]; }
  /// All further work of the stream, or of every stream, comes after that.
  void join(int stream, const Clock &clock);
  void joinHost(const Clock &clock);
  /// The host uses memory itself. Throws Error.
  void touch(const DeviceAccess &access) const;
  /// The memory is no more.
  void forget(const void *begin, size_t bytes);

private:
  struct Access {
    uintptr_t begin, end;
    int stream;
    uint64_t tick; // of the stream
    bool writes;
    std::string what;
  };
  static bool meet(const Access &a, uintptr_t begin, uintptr_t end, bool writes) {
    return a.begin < end && begin < a.end && (a.writes || writes);
  }
  static uint64_t at(const Clock &clock, int stream) {
    return static_cast<size_t>(stream) < clock.size() ? clock[stream] : 0;
  }

  std::vector<std::string> labels;
  std::vector<Clock> clocks; // by stream
  Clock host;
  std::vector<Access> accesses; // those that something later might have to come after
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_ACCESSORDER_H
