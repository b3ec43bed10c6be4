//===- CommunicationThread.cpp - serves what a rank has started ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flight's number is its place in the order of issue, so an event has happened when
// as many flights have ended. A segment ends its events, so the ring never holds more
// than a segment starts.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/CommunicationThread.h"
#include "runtime/plan/Error.h"

#include <omp.h>
#include <system_error>

using namespace tgpt::runtime;

CommunicationThread::CommunicationThread(InProcessWorld &world, const RankProgram &program, int mostInFlight,
                                         Options given)
    : world(world), program(program), options(std::move(given)), ring(mostInFlight), tickets(mostInFlight) {
  if (options.profile)
    profile = program.startedProfile;
  world.watch(done);
  world.setBusy(options.waiter, false);
  try {
    thread = std::thread([this] { serve(); });
  } catch (const std::system_error &error) {
    throw Error("cannot start the communication thread of rank " + std::to_string(options.rank) + ": " + error.what());
  }
}

CommunicationThread::~CommunicationThread() {
  stopping.store(true);
  work.signal();
  thread.join();
}

void CommunicationThread::start(const BoundInstruction &collective, const StepContext &context) {
  uint64_t number = issued.load(std::memory_order_relaxed);
  ring[number % ring.size()] = {&collective, context.microBatch};
  tickets[collective.flight] = number + 1;
  issued.store(number + 1, std::memory_order_release);
  work.signal();
}

void CommunicationThread::wait(const BoundInstruction &wait) {
  uint64_t ticket = tickets[wait.flight];
  world.wait(
      options.rank, done, [&] { return ended.load(std::memory_order_acquire) >= ticket; },
      [&] { return "rank " + std::to_string(options.rank) + " waits at " + program.position(); });
}

void CommunicationThread::settle() {
  while (true) {
    uint32_t seen = done.load();
    if (ended.load(std::memory_order_acquire) == issued.load(std::memory_order_relaxed))
      return;
    done.wait(seen);
  }
}

std::string CommunicationThread::position() const {
  const BoundInstruction *collective = current.load(std::memory_order_relaxed);
  return collective ? program.placeOf(*collective, microBatch.load(std::memory_order_relaxed)) : "";
}

void CommunicationThread::serve() {
  omp_set_num_threads(1);
  bool isRunning = true; // else the job has ended, and what is issued yet counts as done
  for (uint64_t next = 0;; ++next) {
    while (true) {
      uint32_t seen = work.load();
      if (issued.load(std::memory_order_acquire) > next)
        break;
      if (stopping.load())
        return;
      work.wait(seen);
    }
    isRunning = isRunning && run(ring[next % ring.size()]);
    ended.store(next + 1, std::memory_order_release);
    done.signal();
  }
}

bool CommunicationThread::run(const Flight &flight) {
  current.store(flight.collective, std::memory_order_relaxed);
  microBatch.store(flight.microBatch, std::memory_order_relaxed);
  world.setBusy(options.waiter, true);
  try {
    StepContext none;
    const BoundInstruction &collective = *flight.collective;
    if (options.profile)
      runTimed(collective.exchange, collective, none, profile[collective.startedEntry]);
    else
      collective.exchange(collective, none);
    world.noteProgress(options.waiter);
    world.setBusy(options.waiter, false);
    current.store(nullptr, std::memory_order_relaxed);
    return true;
  } catch (const JobAborted &) {
    // A rank carries the message.
  } catch (const std::exception &error) {
    options.fail(position() + ": " + error.what());
  } catch (...) {
    options.fail(position() + ": unknown exception");
  }
  world.setBusy(options.waiter, false);
  return false;
}
