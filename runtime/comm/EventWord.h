//===- EventWord.h - sleep until somebody signals ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A 32-bit event count on a Linux futex. A waiter loads the count, looks whether
// what it waits for has happened, and if not sleeps until the count changes; a
// signal between the two makes the sleep return at once. Works between processes, in
// memory that they share; all bytes 0 is a valid start.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_EVENTWORD_H
#define TGPT_RUNTIME_COMM_EVENTWORD_H

#include <atomic>
#include <cstdint>

namespace tgpt::runtime {

class alignas(64) EventWord {
public:
  uint32_t load() const { return count.load(std::memory_order_acquire); }
  /// Wakes every waiter.
  void signal();
  /// Sleeps while the count is `seen`. False when `seconds` passed without a signal.
  bool waitFor(uint32_t seen, double seconds);
  /// Sleeps while the count is `seen`, however long; may wake early.
  void wait(uint32_t seen);

private:
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_EVENTWORD_H
