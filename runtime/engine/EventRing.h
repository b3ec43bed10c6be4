//===- EventRing.h - the last events of one thread --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Room for the events of a few steps, taken at once when the job is made: writing one is
// two looks at the clock and a store. Later steps overwrite earlier ones.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_EVENTRING_H
#define TGPT_RUNTIME_ENGINE_EVENTRING_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tgpt::runtime {

/// Nanoseconds of the clock that all threads share.
inline int64_t eventNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class EventRing {
public:
  struct Record {
    int32_t entry = 0, instruction = 0;
    int64_t beginNanoseconds = 0, endNanoseconds = 0;
  };

  /// For a thread that passes `perStep` events in each step, and the last `steps` steps.
  EventRing(int64_t perStep, int64_t steps) : perStep(perStep), records(perStep * steps) {}

  void add(int64_t entry, int instruction, int64_t beginNanoseconds) {
    if (records.empty())
      return;
    records[next] = {static_cast<int32_t>(entry), instruction, beginNanoseconds, eventNanoseconds()};
    next = next + 1 == records.size() ? 0 : next + 1;
    ++added;
  }

  /// Calls `take(record, step)` for each of them, earliest first; the first step of all is 1.
  template <typename Take> void forEach(const Take &take) const {
    uint64_t held = std::min<uint64_t>(added, records.size());
    for (uint64_t number = added - held; number < added; ++number)
      take(records[number % records.size()], static_cast<int64_t>(number / perStep) + 1);
  }

private:
  int64_t perStep;
  std::vector<Record> records;
  size_t next = 0;
  uint64_t added = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_EVENTRING_H
