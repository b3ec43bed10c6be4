//===- InProcessWorld.h - ranks that are threads of one process -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all groups and channels of a job share: the abort flag that ends every
// wait, and the progress counts by which a wait knows that the job is stuck.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_INPROCESSWORLD_H
#define TGPT_RUNTIME_COMM_INPROCESSWORLD_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/EventWord.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tgpt::runtime {

struct WorldOptions {
  /// Who may wait: the ranks, then (where ranks have one) their communication threads.
  int64_t waiters = 1;
  int64_t threads = 1; // that compute at once: ranks * threads per rank, and communication threads
  double stuckAfterSeconds = 60;
  /// What a waiter is and where, for the message of a stuck job; "rank 3" when empty.
  std::function<std::string(int64_t waiter)> describe;
};

class InProcessWorld {
public:
  explicit InProcessWorld(WorldOptions options);

  /// A waiter has done something; called once per instruction.
  void noteProgress(int64_t waiter) {
    auto &count = progress[waiter].count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Whether a waiter has work to do. Who waits or has none is not to blame for a stuck job.
  void setBusy(int64_t waiter, bool busy) { progress[waiter].busy.store(busy, std::memory_order_relaxed); }
  std::string describe(int64_t waiter) const;

  /// Ends every wait, now and later, with JobAborted.
  void abort();
  bool aborted() const { return abortFlag.load(std::memory_order_acquire); }

  /// An event of this world outlives every wait on it and is signalled by abort().
  void watch(EventWord &event) { events.push_back(&event); }

  /// Lets `waiter` wait until ready() holds; whoever makes it hold signals `event`. Throws
  /// JobAborted, or Error with describe() when the job is stuck.
  template <typename Ready, typename Describe>
  void wait(int64_t waiter, EventWord &event, Ready ready, Describe describe) {
    for (int i = 0; i < spins; ++i) {
      if (ready())
        return;
      pause();
    }
    setBusy(waiter, false);
    Patience patience;
    while (true) {
      uint32_t seen = event.load();
      if (ready())
        return setBusy(waiter, true);
      if (aborted())
        throw JobAborted();
      if (!event.waitFor(seen, pollSeconds) && outOf(patience))
        failStuck(describe());
    }
  }

private:
  struct alignas(64) Progress {
    std::atomic<uint64_t> count{0};
    std::atomic<bool> busy{true};
  };
  /// When a waiter last saw the job advance.
  struct Patience {
    uint64_t progress = UINT64_MAX;
    std::chrono::steady_clock::time_point since;
  };
  static void pause();
  bool outOf(Patience &patience) const;
  [[noreturn]] void failStuck(const std::string &what) const;

  WorldOptions options;
  std::vector<Progress> progress;
  std::vector<EventWord *> events;
  std::atomic<bool> abortFlag{false};
  int spins = 0;
  double pollSeconds = 1;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_INPROCESSWORLD_H
