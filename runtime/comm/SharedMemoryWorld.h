//===- SharedMemoryWorld.h - ranks that reach each other's memory -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all groups and channels of a job share: the abort flag that ends every wait, and
// what a watchdog must know of every waiter: where it is and what it waits for. Ranks are
// threads of this process, or processes of which each has a world of its own on the same
// memory; then what one of them notes outlives it, and the others read it there.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_SHAREDMEMORYWORLD_H
#define TGPT_RUNTIME_COMM_SHAREDMEMORYWORLD_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/EventWord.h"
#include "runtime/comm/WorldMemory.h"

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

/// Something to wait for, as one waiter sees it. Outlives the world's waits; asked from any thread, and, of ranks that
/// are processes, from any process.
class WaitPlace {
public:
  virtual ~WaitPlace() = default;
  /// "group 1 (tp)", "channel 0".
  virtual std::string name() const = 0;
  /// The waiters that have not come, or have not done their part; none when the wait is over.
  virtual std::vector<int64_t> missing() const = 0;

private:
  friend class SharedMemoryWorld;
  uint32_t number = 0; // of the world's places, from 1
};

/// Where a waiter is in its schedule.
struct SchedulePlace {
  static constexpr uint64_t beforeAll = 0, behindAll = ~uint64_t(0); // at no instruction
  std::atomic<int64_t> entry{0};
  std::atomic<uint64_t> instruction{beforeAll};

  void set(int64_t segment, int64_t index) {
    instruction.store((static_cast<uint64_t>(segment) << 32 | static_cast<uint64_t>(index)) + 1,
                      std::memory_order_relaxed);
  }
  void clear() { instruction.store(beforeAll, std::memory_order_relaxed); }
  void end() { instruction.store(behindAll, std::memory_order_relaxed); }
};

class SharedMemoryWorld {
public:
  /// With memory that other processes' worlds are on as well: all of them have the same options, groups and channels.
  explicit SharedMemoryWorld(WorldOptions options, std::span<std::byte> shared = {});

  WorldMemory &memory() { return memoryOfAll; }
  int64_t waiters() const { return options.waiters; }

  /// A waiter has done something; called once per instruction.
  void noteProgress(int64_t waiter) {
    auto &count = states[waiter].progress;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Of all waiters together: while it stands still, nobody has done anything.
  uint64_t totalProgress() const;
  /// Whether a waiter has nothing to do; who waits is not idle.
  void setIdle(int64_t waiter, bool idle) { states[waiter].busy.store(!idle, std::memory_order_relaxed); }
  bool isIdle(int64_t waiter) const { return !states[waiter].busy.load(std::memory_order_relaxed); }
  /// What a waiter waits for, or waited for when the job was aborted; null: it does not wait.
  const WaitPlace *waitsAt(int64_t waiter) const {
    uint32_t number = states[waiter].place.load(std::memory_order_acquire);
    return number ? places[number - 1] : nullptr;
  }
  /// For whom a waiter waits: as its place says, or, of one on another machine, as it said itself.
  std::vector<int64_t> missingOf(int64_t waiter) const;
  /// Writes that down for other machines, and gives the bytes that they should have.
  std::span<const std::byte> report(int64_t waiter);
  /// Whose places are those of another machine.
  void setElsewhere(int64_t waiter) { elsewhere[waiter] = true; }
  SchedulePlace &placeOf(int64_t waiter) { return states[waiter].at; }
  const SchedulePlace &placeOf(int64_t waiter) const { return states[waiter].at; }
  /// A waiter has failed; and the signal that ended its thread or process, 0: none. Both are async-signal-safe.
  void setFailed(int64_t waiter) { states[waiter].failed.store(1); }
  bool hasFailed(int64_t waiter) const { return states[waiter].failed.load() != 0; }
  void setSignal(int64_t waiter, int signal) { states[waiter].signal.store(signal); }
  int signalOf(int64_t waiter) const { return states[waiter].signal.load(); }
  /// A thread has crashed, of a waiter or (noWaiter) of one that is not known. Async-signal-safe.
  static constexpr int64_t noWaiter = -1;
  struct Crash {
    int64_t waiter;
    int signal; // 0: no thread has
  };
  void noteCrash(int64_t waiter, int signal) {
    if (waiter != noWaiter)
      setSignal(waiter, signal);
    crash.store((waiter + 1) << 8 | signal);
  }
  Crash crashed() const { return {(crash.load() >> 8) - 1, static_cast<int>(crash.load() & 0xff)}; }

  /// Ends every wait, now and later, in all processes, with JobAborted.
  void abort();
  bool aborted() const { return abortFlag.load(std::memory_order_acquire) != 0; }

  /// An event of this world outlives every wait on it and is signalled by abort().
  void watch(EventWord &event) { events.push_back(&event); }
  /// Every place is added once before anybody waits at it, in the same order in every process.
  void add(WaitPlace &place) {
    places.push_back(&place);
    place.number = static_cast<uint32_t>(places.size());
  }

  /// Lets `waiter` wait at `place` until ready() holds; whoever makes it hold signals `event`. Throws JobAborted.
  template <typename Ready> void wait(int64_t waiter, EventWord &event, const WaitPlace &place, Ready ready) {
    for (int i = 0; i < spins; ++i) {
      if (ready())
        return;
      pause();
    }
    std::atomic<uint32_t> &published = states[waiter].place;
    published.store(place.number, std::memory_order_release);
    while (true) {
      uint32_t seen = event.load();
      if (ready())
        return published.store(0, std::memory_order_relaxed);
      if (aborted())
        throw JobAborted();
      event.wait(seen);
    }
  }

private:
  struct alignas(64) State {
    std::atomic<uint64_t> progress;
    SchedulePlace at;
    std::atomic<uint32_t> place; // its number; 0: none
    std::atomic<uint32_t> busy;
    std::atomic<uint32_t> failed;
    std::atomic<int32_t> signal;
    int32_t missingCount, missing[12]; // for other machines
  };
  static void pause();

  WorldOptions options;
  WorldMemory memoryOfAll;
  std::span<State> states;
  std::atomic<uint32_t> &abortFlag;
  std::atomic<int64_t> &crash;
  std::vector<bool> elsewhere; // by waiter
  std::vector<EventWord *> events;
  std::vector<const WaitPlace *> places;
  int spins = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_SHAREDMEMORYWORLD_H
