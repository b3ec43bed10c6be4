//===- SharedMemoryWorld.cpp - ranks that reach each other's memory -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long to spin, and how to wake everybody.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/SharedMemoryWorld.h"

#include <algorithm>
#include <iterator>
#include <thread>

using namespace tgpt::runtime;

/// About half a millisecond: several times what waking a sleeper takes. Shorter, and a rank that once slept is late,
/// lets its peer sleep at the next meeting, and so on: small steps took five times as long.
static constexpr int spinIterations = 20000;

SharedMemoryWorld::SharedMemoryWorld(WorldOptions given, std::span<std::byte> shared)
    : options(given), memoryOfAll(shared), states(memoryOfAll.make<State>(options.waiters)),
      abortFlag(memoryOfAll.make<std::atomic<uint32_t>>()), crash(memoryOfAll.make<std::atomic<int64_t>>()),
      elsewhere(options.waiters) {
  // A thread that spins on a core that its peer needs only delays both.
  if (options.threads <= static_cast<int64_t>(std::thread::hardware_concurrency()))
    spins = spinIterations;
}

uint64_t SharedMemoryWorld::totalProgress() const {
  uint64_t total = 0;
  for (const State &state : states)
    total += state.progress.load(std::memory_order_relaxed);
  return total;
}

std::vector<int64_t> SharedMemoryWorld::missingOf(int64_t waiter) const {
  const State &state = states[waiter];
  if (elsewhere[waiter])
    return {state.missing, state.missing + std::clamp<int64_t>(state.missingCount, 0, std::size(state.missing))};
  const WaitPlace *place = waitsAt(waiter);
  return place ? place->missing() : std::vector<int64_t>();
}

std::span<const std::byte> SharedMemoryWorld::report(int64_t waiter) {
  State &state = states[waiter];
  std::vector<int64_t> missing = missingOf(waiter);
  state.missingCount = static_cast<int32_t>(std::min(missing.size(), std::size(state.missing)));
  std::copy_n(missing.begin(), state.missingCount, state.missing);
  return std::as_bytes(std::span(&state, 1));
}

void SharedMemoryWorld::abort() {
  abortFlag.store(1);
  for (EventWord *event : events)
    event->signal();
}

void SharedMemoryWorld::pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}
