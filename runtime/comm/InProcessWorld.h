//===- InProcessWorld.h - ranks that are threads of one process -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all groups and channels of a job share: the abort flag that ends every wait, and
// what a watchdog must know of every waiter: how far it is and what it waits for.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_INPROCESSWORLD_H
#define TGPT_RUNTIME_COMM_INPROCESSWORLD_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/EventWord.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tgpt::runtime {

struct WorldOptions {
  /// Who may wait: the ranks, then (where ranks have one) their communication threads.
  int64_t waiters = 1;
  int64_t threads = 1; // that compute at once: ranks * threads per rank, and communication threads
};

/// Something to wait for, as one waiter sees it. Outlives the world's waits; asked from any thread.
class WaitPlace {
public:
  virtual ~WaitPlace() = default;
  /// "group 1 (tp)", "channel 0".
  virtual std::string name() const = 0;
  /// The waiters that have not come, or have not done their part; none when the wait is over.
  virtual std::vector<int64_t> missing() const = 0;
};

class InProcessWorld {
public:
  explicit InProcessWorld(WorldOptions options);

  /// A waiter has done something; called once per instruction.
  void noteProgress(int64_t waiter) {
    auto &count = states[waiter].progress;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Of all waiters together: while it stands still, nobody has done anything.
  uint64_t totalProgress() const;
  /// Whether a waiter has nothing to do; who waits is not idle.
  void setIdle(int64_t waiter, bool idle) { states[waiter].idle.store(idle, std::memory_order_relaxed); }
  bool isIdle(int64_t waiter) const { return states[waiter].idle.load(std::memory_order_relaxed); }
  /// What a waiter waits for, or waited for when the job was aborted; null: it does not wait.
  const WaitPlace *waitsAt(int64_t waiter) const { return states[waiter].place.load(std::memory_order_acquire); }

  /// Ends every wait, now and later, with JobAborted.
  void abort();
  bool aborted() const { return abortFlag.load(std::memory_order_acquire); }

  /// An event of this world outlives every wait on it and is signalled by abort().
  void watch(EventWord &event) { events.push_back(&event); }

  /// Lets `waiter` wait at `place` until ready() holds; whoever makes it hold signals `event`. Throws JobAborted.
  template <typename Ready> void wait(int64_t waiter, EventWord &event, const WaitPlace &place, Ready ready) {
    for (int i = 0; i < spins; ++i) {
      if (ready())
        return;
      pause();
    }
    std::atomic<const WaitPlace *> &published = states[waiter].place;
    published.store(&place, std::memory_order_release);
    while (true) {
      uint32_t seen = event.load();
      if (ready())
        return published.store(nullptr, std::memory_order_relaxed);
      if (aborted())
        throw JobAborted();
      event.wait(seen);
    }
  }

private:
  struct alignas(64) State {
    std::atomic<uint64_t> progress{0};
    std::atomic<const WaitPlace *> place{nullptr};
    std::atomic<bool> idle{true};
  };
  static void pause();

  WorldOptions options;
  std::vector<State> states;
  std::vector<EventWord *> events;
  std::atomic<bool> abortFlag{false};
  int spins = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_INPROCESSWORLD_H
