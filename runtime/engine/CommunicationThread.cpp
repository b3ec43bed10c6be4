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
#include <pthread.h>
#include <system_error>

using namespace tgpt::runtime;

CommunicationThread::CommunicationThread(SharedMemoryWorld &world, const RankProgram &program, int mostInFlight,
                                         CommunicationProgress &progress, Options given)
    : events(program.startedInStep(), given.tracedSteps),
      world(world), crashSite{&world, given.waiter, given.isProcess}, program(program), progress(progress),
      counts(progress.counts), options(std::move(given)), ring(mostInFlight), tickets(mostInFlight) {
  if (options.profile)
    profile = program.startedProfile;
  world.setIdle(options.waiter, true);
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
  forgetCrashSite(crashSite);
}

void CommunicationThread::start(const BoundInstruction &collective, const StepContext &context) {
  uint64_t number = counts.issued.load(std::memory_order_relaxed);
  ring[number % ring.size()] = {&collective, context.entry};
  tickets[collective.flight] = number + 1;
  counts.issued.store(number + 1, std::memory_order_release);
  work.signal();
}

void CommunicationThread::wait(const BoundInstruction &wait) {
  uint64_t ticket = tickets[wait.flight];
  world.wait(options.rank, counts.done, progress,
             [&] { return counts.ended.load(std::memory_order_acquire) >= ticket; });
}

void CommunicationThread::settle() {
  while (true) {
    uint32_t seen = counts.done.load();
    if (counts.ended.load(std::memory_order_acquire) == counts.issued.load(std::memory_order_relaxed))
      return;
    counts.done.wait(seen);
  }
}

void CommunicationThread::serve() {
  ::pthread_setname_np(::pthread_self(), ("comm " + std::to_string(options.rank)).c_str());
  omp_set_num_threads(1);
  enterCrashSite(crashSite);
  bool isRunning = true; // else the job has ended, and what is issued yet counts as done
  for (uint64_t next = 0;; ++next) {
    while (true) {
      uint32_t seen = work.load();
      if (counts.issued.load(std::memory_order_acquire) > next)
        break;
      if (stopping.load())
        return;
      work.wait(seen);
    }
    isRunning = isRunning && run(ring[next % ring.size()]);
    counts.ended.store(next + 1, std::memory_order_release);
    counts.done.signal();
  }
}

bool CommunicationThread::run(const Flight &flight) {
  const BoundInstruction &collective = *flight.collective;
  SchedulePlace &place = world.placeOf(options.waiter);
  place.entry.store(flight.entry, std::memory_order_relaxed);
  place.set(collective.segment, collective.index);
  world.setIdle(options.waiter, false);
  try {
    StepContext none;
    int64_t begin = options.tracedSteps > 0 ? eventNanoseconds() : 0;
    if (options.profile)
      runTimed(collective.exchange, collective, none, profile[collective.startedEntry]);
    else
      collective.exchange(collective, none);
    events.add(flight.entry, collective.index, begin);
    world.noteProgress(options.waiter);
    world.setIdle(options.waiter, true);
    place.clear();
    return true;
  } catch (const JobAborted &) {
    // A rank carries the message.
  } catch (const std::exception &error) {
    options.fail(program.placeText(place) + ": " + error.what());
  } catch (...) {
    options.fail(program.placeText(place) + ": unknown exception");
  }
  return false;
}
