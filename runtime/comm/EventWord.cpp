//===- EventWord.cpp - sleep until somebody signals -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The futex calls behind EventWord. `sleepers` saves the system call when nobody
// sleeps: a sleeper is counted before the kernel compares the count, so a signal
// either sees the sleeper or has changed the count (all sequentially consistent).
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/EventWord.h"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tgpt::runtime;

static long futex(std::atomic<uint32_t> &word, int operation, uint32_t value, const timespec *timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, timeout, nullptr, 0);
}

void EventWord::signal() {
  count.fetch_add(1);
  if (sleepers.load() > 0)
    futex(count, FUTEX_WAKE, INT_MAX, nullptr);
}

bool EventWord::waitFor(uint32_t seen, double seconds) {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(seconds);
  timeout.tv_nsec = static_cast<long>((seconds - static_cast<double>(timeout.tv_sec)) * 1e9);
  sleepers.fetch_add(1);
  long result = futex(count, FUTEX_WAIT, seen, &timeout);
  bool timedOut = result != 0 && errno == ETIMEDOUT;
  sleepers.fetch_sub(1);
  return !timedOut;
}

void EventWord::wait(uint32_t seen) {
  sleepers.fetch_add(1);
  futex(count, FUTEX_WAIT, seen, nullptr);
  sleepers.fetch_sub(1);
}
