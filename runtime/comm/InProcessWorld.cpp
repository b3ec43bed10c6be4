//===- InProcessWorld.cpp - ranks that reach each other's memory -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long to spin, and how to wake everybody.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/InProcessWorld.h"

#include <thread>

using namespace tgpt::runtime;

/// About 50 us: longer than two ranks of one job are usually apart.
static constexpr int spinIterations = 2000;

InProcessWorld::InProcessWorld(WorldOptions given, std::span<std::byte> shared)
    : options(given), memoryOfAll(shared), states(memoryOfAll.make<State>(options.waiters)),
      abortFlag(memoryOfAll.make<std::atomic<uint32_t>>()), crash(memoryOfAll.make<std::atomic<int64_t>>()) {
  // A thread that spins on a core that its peer needs only delays both.
  if (options.threads <= static_cast<int64_t>(std::thread::hardware_concurrency()))
    spins = spinIterations;
}

uint64_t InProcessWorld::totalProgress() const {
  uint64_t total = 0;
  for (const State &state : states)
    total += state.progress.load(std::memory_order_relaxed);
  return total;
}

void InProcessWorld::abort() {
  abortFlag.store(1);
  for (EventWord *event : events)
    event->signal();
}

void InProcessWorld::pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}
