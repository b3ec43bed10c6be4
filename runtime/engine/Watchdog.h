//===- Watchdog.h - ends a step that does not advance -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks at the job now and then from the thread that waits for the ranks, which has
// nothing else to do. The ranks pay one count an instruction, as they always did.
//
// A step is stuck when no rank has passed an instruction for `seconds`, and for as much
// longer as the kernels at hand may take by their operation counts. Where this process was
// suspended itself, or the machine was, that time does not count. Then the job is ended;
// what has not come back a moment later is in a kernel that does not return.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_WATCHDOG_H
#define TGPT_RUNTIME_ENGINE_WATCHDOG_H

#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/engine/RankTeam.h"

#include <chrono>
#include <functional>

namespace tgpt::runtime {

class Watchdog final : public TaskMonitor {
public:
  /// `mostKernelSeconds` says what the slowest kernel at hand may take; `onStuck` is called once, and aborts the
  /// world, and so is `onCrash` where a thread has crashed.
  Watchdog(SharedMemoryWorld &world, double seconds, const std::function<double()> &mostKernelSeconds,
           const std::function<void()> &onStuck, const std::function<void()> &onCrash = {});

  double pollSeconds() const override;
  /// False when ranks that should have ended have not come back.
  bool goOn() override;

private:
  using Clock = std::chrono::steady_clock;

  SharedMemoryWorld &world;
  double seconds;
  const std::function<double()> &mostKernelSeconds;
  const std::function<void()> &onStuck;
  std::function<void()> onCrash;
  uint64_t progress;
  double silentSeconds = 0; ///< that it has seen nobody advance for
  Clock::time_point lastLook = Clock::now();
  bool isStuck = false; ///< or a thread has crashed: the job was ended
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_WATCHDOG_H
