//===- CommunicationThread.h - serves what a rank has started ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's own thread issues started collectives into a ring; one thread more runs
// them, in that order, whatever their stream: it is the order of every rank of the
// stage, so their collectives meet. Both sleep while they have nothing to do.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_COMMUNICATIONTHREAD_H
#define TGPT_RUNTIME_ENGINE_COMMUNICATIONTHREAD_H

#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/engine/CrashSite.h"
#include "runtime/engine/RankProgram.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tgpt::runtime {

/// How far the communication of a rank is, as other threads and processes see it: what the rank waits for.
class CommunicationProgress final : public WaitPlace {
public:
  CommunicationProgress(SharedMemoryWorld &world, int64_t waiter)
      : waiter(waiter), counts(world.memory().make<Counts>()) {
    world.watch(counts.done);
    world.add(*this);
  }

  std::string name() const override { return "its communication thread"; }
  std::vector<int64_t> missing() const override {
    bool isDone = counts.ended.load(std::memory_order_acquire) == counts.issued.load(std::memory_order_acquire);
    return isDone ? std::vector<int64_t>() : std::vector<int64_t>{waiter};
  }

private:
  friend class CommunicationThread;
  struct Counts {
    EventWord done; ///< signalled when a flight has ended
    std::atomic<uint64_t> issued, ended;
  };
  int64_t waiter;
  Counts &counts;
};

class CommunicationThread final : public StartedCollectives {
public:
  struct Options {
    int64_t rank = 0;
    int64_t waiter = 0; ///< as which this thread is known to the world
    bool profile = false;
    bool isProcess = false; ///< where a rank is a process, a crash ends it
    /// Called once, on this thread, with the message of what went wrong.
    std::function<void(const std::string &what)> fail;
    int64_t tracedSteps = 0; ///< steps whose events are kept
  };

  /// For a program whose segments start `mostInFlight` collectives at most.
  CommunicationThread(SharedMemoryWorld &world, const RankProgram &program, int mostInFlight,
                      CommunicationProgress &progress, Options options);
  ~CommunicationThread() override;

  // On the rank's thread.
  void start(const BoundInstruction &collective, const StepContext &context) override;
  void wait(const BoundInstruction &wait) override;
  /// Returns when this thread has nothing in hand; after an abort that is soon.
  void settle();

  /// What it ran: apart from the rank's own profile, since it takes none of its time.
  std::vector<ProfileEntry> profile;
  EventRing events;
  const std::vector<ProfileEntry> &emptyProfile() const { return program.startedProfile; }

private:
  struct Flight {
    const BoundInstruction *collective = nullptr;
    int64_t entry = 0;
  };

  void serve();
  /// False when the job has ended.
  bool run(const Flight &flight);

  SharedMemoryWorld &world;
  CrashSite crashSite;
  const RankProgram &program;
  CommunicationProgress &progress;
  CommunicationProgress::Counts &counts;
  Options options;
  std::vector<Flight> ring;      ///< flight n at n modulo its size
  std::vector<uint64_t> tickets; ///< by BoundInstruction::flight: the number of the flight in this run of the segment
  EventWord work;                ///< signalled when something was issued, or to stop
  std::atomic<bool> stopping{false};
  std::thread thread; ///< last: it uses the rest
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_COMMUNICATIONTHREAD_H
