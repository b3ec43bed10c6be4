//===- FailureRecord.cpp - the first failure of a job ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/FailureRecord.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;
using State = RankPosition::State;

/// What ranks of other processes are given to stop, or to write down what they know.
static constexpr double restSeconds = 1;

FailureRecord::FailureRecord(SharedMemoryWorld &world, const plan::Plan &plan, const RankGrid &grid,
                             bool hasCommunicationThreads)
    : world(world), plan(plan), grid(grid), hasCommunicationThreads(hasCommunicationThreads),
      note(world.memory().make<Note>()) {}

/// False where another failure came first.
bool FailureRecord::claim(const std::string &text, bool isStuck, const std::string &details) {
  if (note.claimed.exchange(1) != 0)
    return false;
  std::snprintf(note.message, sizeof(note.message), "%s", text.c_str());
  std::snprintf(note.details, sizeof(note.details), "%s", details.c_str());
  note.isStuck = isStuck;
  note.written.store(1, std::memory_order_release);
  return true;
}

std::string FailureRecord::message() const {
  auto start = std::chrono::steady_clock::now();
  while (!note.written.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(restSeconds))
      return "a rank has failed, and died before it could say why";
    std::this_thread::yield();
  }
  return note.message;
}

void FailureRecord::add(int64_t waiter, const std::string &what, const std::string &details) {
  world.setFailed(waiter);
  bool isRank = waiter < grid.ranks();
  std::string text = (isRank ? "" : "the communication of ") + grid.describe(waiter % grid.ranks()) + ", " + what;
  bool isFirst = claim(text, false, details);
  world.abort();
  if (isFirst && announce)
    announce(text);
}

void FailureRecord::addTold(int64_t rank, const std::string &message) {
  world.setFailed(rank);
  claim(message, false);
  world.abort();
}

void FailureRecord::addStuck(double seconds, const std::vector<int64_t> &missing) {
  {
    std::lock_guard lock(mutex);
    stuckPositions = positions();
    isStuckHere = claim(stuckText(seconds, missing), true); // not where a rank has failed meanwhile
  }
  world.abort();
  if (isStuckHere && announce)
    announce(note.message);
}

static std::string crashText(int signal) {
  return "it crashed with signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

std::string FailureRecord::whereIs(int64_t waiter) const {
  if (world.isIdle(waiter))
    return waiter < grid.ranks() ? "between steps" : "with nothing in hand";
  return placeText(plan, stageOf(waiter % grid.ranks()), world.placeOf(waiter));
}

void FailureRecord::addDied(int64_t rank, const std::string &why) {
  std::string how = why;
  for (int64_t waiter = rank; waiter < world.waiters(); waiter += grid.ranks())
    if (int signal = world.signalOf(waiter); signal > 0)
      how = crashText(signal);
    else
      world.setSignal(waiter, -1);
  claim(grid.describe(rank) + ", " + whereIs(rank) + ": " + how, false);
  world.abort();
}

/// Where a thread crashed within malloc, nothing may be said any more; then the process ends all the same.
static constexpr unsigned lastWordsSeconds = 10;

void FailureRecord::addCrash() {
  ::alarm(lastWordsSeconds);
  SharedMemoryWorld::Crash crash = world.crashed();
  int64_t rank = crash.waiter % grid.ranks();
  if (crash.waiter == SharedMemoryWorld::noWaiter)
    claim("a thread of a kernel: " + crashText(crash.signal), false);
  else
    claim((crash.waiter < grid.ranks() ? "" : "the communication of ") + grid.describe(rank) + ", " +
              whereIs(crash.waiter) + ": " + crashText(crash.signal),
          false);
  world.abort();
}

void FailureRecord::awaitRest() const {
  auto isMoving = [&](int64_t waiter) { return !world.isIdle(waiter) && world.signalOf(waiter) == 0; };
  auto start = std::chrono::steady_clock::now();
  for (int64_t waiter = 0; waiter < grid.ranks(); ++waiter)
    while (isMoving(waiter) && std::chrono::steady_clock::now() - start < std::chrono::duration<double>(restSeconds))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Of its step: through it, or yet to begin it.
static bool isOutside(const RankPosition &position) {
  return position.segment.empty() && (position.state == State::Ended || position.state == State::Stopped);
}

void FailureRecord::throwIfAny(bool hasLostThreads) {
  std::lock_guard lock(mutex);
  if (note.claimed.load() == 0)
    return;
  if (!made) {
    std::string text = message();
    std::vector<RankPosition> where = isStuckHere ? std::move(stuckPositions) : positions();
    if (!note.isStuck && std::all_of(where.begin(), where.end(), isOutside))
      where.clear(); // not within a step, and none was to be
    made.emplace(note.isStuck ? JobFailure::Kind::Stuck : JobFailure::Kind::RankFailed, text, std::move(where),
                 hasLostThreads, note.details);
  }
  if (world.crashed().signal != 0)
    ::alarm(0);
  throw *made;
}

void FailureRecord::describeState(RankPosition &position, int64_t waiter) const {
  position.isBetweenSteps = position.segment.empty() && world.isIdle(waiter);
  if (world.signalOf(waiter) != 0) {
    position.state = State::Died;
    return;
  }
  if (position.segment.empty()) {
    State outside = position.entry == position.entries ? State::Ended : State::Stopped;
    position.state = position.isBetweenSteps ? outside : State::Working;
    return;
  }
  const WaitPlace *place = world.waitsAt(waiter);
  std::vector<int64_t> missing = place ? world.missingOf(waiter) : std::vector<int64_t>();
  if (world.hasFailed(waiter)) {
    position.state = State::Failed;
  } else if (!missing.empty()) {
    position.state = State::Waiting;
    position.waitsOn = place->name();
    for (int64_t other : missing)
      position.missing.push_back(other % grid.ranks());
  } else { // also one whose wait is over but that does not go on
    position.state = world.isIdle(waiter) ? State::Stopped : State::Working;
  }
}

/// The ranks in order, each with its communication behind it where that has something in hand.
std::vector<RankPosition> FailureRecord::positions() const {
  std::vector<RankPosition> result;
  auto add = [&](int64_t rank, int64_t waiter) {
    RankPosition &position = result.emplace_back(positionAt(plan, stageOf(rank), world.placeOf(waiter)));
    position.rank = rank;
    position.isCommunication = waiter != rank;
    describeState(position, waiter);
  };
  for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
    add(rank, rank);
    int64_t communication = grid.ranks() + rank;
    if (hasCommunicationThreads && instructionAt(plan, stageOf(rank), world.placeOf(communication)))
      add(rank, communication);
  }
  return result;
}

/// The ranks that work are to blame, then one that is waited for and is not there; where all wait, the first says for
/// whom.
std::string FailureRecord::stuckText(double seconds, const std::vector<int64_t> &missing) const {
  char number[32];
  std::snprintf(number, sizeof(number), "%g", seconds);
  std::string text = "no rank has advanced for " + std::string(number) + " s: ";
  auto works = [](const RankPosition &position) { return position.state == State::Working; };
  auto waiterOf = [&](const RankPosition &position) {
    return position.rank + (position.isCommunication ? grid.ranks() : 0);
  };
  auto who = [&](const RankPosition &position) {
    return (position.isCommunication ? "the communication of " : "") + grid.describe(position.rank);
  };
  auto where = [&](const RankPosition &position) {
    return placeText(plan, position.stage, world.placeOf(waiterOf(position)));
  };
  auto culprit = std::find_if(stuckPositions.begin(), stuckPositions.end(), works);
  if (culprit != stuckPositions.end()) {
    int64_t more = std::count_if(culprit + 1, stuckPositions.end(), works);
    return text + who(*culprit) + " does not return from " + where(*culprit) +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
  }
  for (const RankPosition &position : stuckPositions)
    for (const RankPosition &other : stuckPositions)
      if (isOutside(other) && std::count(position.missing.begin(), position.missing.end(), other.rank) > 0)
        return text + who(other) + " is not within its step, and " + who(position) + " waits for it at " +
               where(position) + " on " + position.waitsOn;
  for (const RankPosition &position : stuckPositions)
    if (position.state == State::Waiting)
      return text + "every rank waits, " + who(position) + " at " + where(position) + " on " + position.waitsOn +
             (position.missing.size() == 1 ? " for rank " : " for ranks ") + rangesText(position.missing);
  if (!missing.empty())
    return text + grid.describe(missing.front()) + " has ended its step and does not go on" +
           (missing.size() == 1 ? "" : " (and " + std::to_string(missing.size() - 1) + " more)");
  return text + "no rank is within its step";
}
