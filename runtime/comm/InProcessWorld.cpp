//===- InProcessWorld.cpp - ranks that are threads of one process -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Aborting and noticing that nothing moves any more.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/InProcessWorld.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace tgpt::runtime;

/// About 50 us: longer than two ranks of one job are usually apart.
static constexpr int spinIterations = 2000;

/// Ranks that a message names one by one.
static constexpr int64_t mostListed = 4;

InProcessWorld::InProcessWorld(WorldOptions given) : options(std::move(given)), progress(options.waiters) {
  // A thread that spins on a core that its peer needs only delays both.
  if (options.threads <= static_cast<int64_t>(std::thread::hardware_concurrency()))
    spins = spinIterations;
  pollSeconds = std::clamp(options.stuckAfterSeconds / 4, 0.001, 1.0);
}

std::string InProcessWorld::describe(int64_t waiter) const {
  return options.describe ? options.describe(waiter) : "rank " + std::to_string(waiter);
}

void InProcessWorld::abort() {
  abortFlag.store(true);
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

bool InProcessWorld::outOf(Patience &patience) const {
  uint64_t total = 0;
  for (const Progress &waiter : progress)
    total += waiter.count.load(std::memory_order_relaxed);
  auto now = std::chrono::steady_clock::now();
  if (total != patience.progress) {
    patience = {total, now};
    return false;
  }
  return std::chrono::duration<double>(now - patience.since).count() >= options.stuckAfterSeconds;
}

void InProcessWorld::failStuck(const std::string &what) const {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g", options.stuckAfterSeconds);
  std::string busy;
  int64_t count = 0;
  for (int64_t waiter = 0; waiter < options.waiters; ++waiter)
    if (progress[waiter].busy.load(std::memory_order_relaxed) && ++count <= mostListed)
      busy += (count > 1 ? ", " : "") + describe(waiter);
  if (count > mostListed)
    busy += " and " + std::to_string(count - mostListed) + " more";
  throw Error("no rank has advanced for " + std::string(seconds) + " s: " + what +
              (count == 0 ? "; every rank waits" : "; not waiting: " + busy));
}
