//===- Watchdog.cpp - ends a step that does not advance ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Watchdog.h"

#include <algorithm>

using namespace tgpt::runtime;

/// What ranks are given to end once they were told to; a wait ends at once, an instruction soon.
static constexpr double graceSeconds = 1;
/// A look counts for as many at most: if more time has passed, this thread stood still, and perhaps the ranks with it.
/// So no bound is over before it has looked several times, whatever happened to the machine in between.
static constexpr double mostLooks = 4;

Watchdog::Watchdog(SharedMemoryWorld &world, double seconds, const std::function<double()> &mostKernelSeconds,
                   const std::function<void()> &onStuck, const std::function<void()> &onCrash)
    : world(world), seconds(seconds), mostKernelSeconds(mostKernelSeconds), onStuck(onStuck), onCrash(onCrash),
      progress(world.totalProgress()) {}

double Watchdog::pollSeconds() const {
  return std::clamp(seconds / 20, 0.001, 0.5);
}

bool Watchdog::goOn() {
  Clock::time_point now = Clock::now();
  silentSeconds += std::min(std::chrono::duration<double>(now - lastLook).count(), mostLooks * pollSeconds());
  lastLook = now;
  if (onCrash && !isStuck && world.crashed().signal != 0) {
    isStuck = true; // the thread that has crashed does not come back either
    onCrash();
  }
  if (uint64_t total = world.totalProgress(); total != progress) {
    progress = total;
    silentSeconds = 0;
    return true;
  }
  // Of a job that failed, the ranks may be in kernels that take as long as ever.
  double patience = isStuck ? std::min(seconds, graceSeconds) : seconds;
  if (silentSeconds < patience || (!isStuck && silentSeconds < seconds + mostKernelSeconds()))
    return true;
  if (world.aborted())
    return false;
  isStuck = true;
  silentSeconds = 0;
  onStuck();
  return true;
}
