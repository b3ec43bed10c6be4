//===- FailureRecord.cpp - the first failure of a job ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/FailureRecord.h"

#include <algorithm>
#include <cstdio>

using namespace tgpt;
using namespace tgpt::runtime;
using State = RankPosition::State;

void FailureRecord::add(int64_t waiter, const std::string &what) {
  {
    std::lock_guard lock(mutex);
    failed.insert(waiter);
    bool isRank = waiter < grid.ranks();
    if (message.empty())
      message = (isRank ? "" : "the communication of ") + grid.describe(waiter % grid.ranks()) + ", " + what;
  }
  world.abort();
}

void FailureRecord::addStuck(double seconds) {
  {
    std::lock_guard lock(mutex);
    if (!message.empty())
      return; // a rank has failed meanwhile
    isStuck = true;
    stuckPositions = positions();
    message = stuckText(seconds);
  }
  world.abort();
}

void FailureRecord::throwIfAny(bool hasLostThreads) {
  std::lock_guard lock(mutex);
  if (message.empty())
    return;
  if (!made) {
    std::vector<RankPosition> where = isStuck ? std::move(stuckPositions) : positions();
    if (std::all_of(where.begin(), where.end(), [](const RankPosition &p) { return p.state == State::Ended; }))
      where.clear(); // not within a step
    made.emplace(isStuck ? JobFailure::Kind::Stuck : JobFailure::Kind::RankFailed, message, std::move(where),
                 hasLostThreads);
  }
  throw *made;
}

void FailureRecord::describeState(RankPosition &position, int64_t waiter) const {
  if (position.segment.empty()) {
    bool hasBegun = world.isIdle(waiter);
    position.state = hasBegun ? State::Ended : State::Working;
    position.entry = hasBegun ? position.entries : 0;
    return;
  }
  const WaitPlace *place = world.waitsAt(waiter);
  std::vector<int64_t> missing = place ? place->missing() : std::vector<int64_t>();
  if (failed.count(waiter)) {
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
  for (int64_t rank = 0; rank < static_cast<int64_t>(programs.size()); ++rank) {
    describeState(result.emplace_back(programs[rank]->position()), rank);
    if (communication.empty())
      continue;
    if (std::optional<RankPosition> started = communication[rank]->position())
      describeState(result.emplace_back(*started), grid.ranks() + rank);
  }
  return result;
}

/// The ranks that work are to blame; where all wait, the first says for whom.
std::string FailureRecord::stuckText(double seconds) const {
  char number[32];
  std::snprintf(number, sizeof(number), "%g", seconds);
  std::string text = "no rank has advanced for " + std::string(number) + " s: ";
  auto works = [](const RankPosition &position) { return position.state == State::Working; };
  auto who = [&](const RankPosition &position) {
    return (position.isCommunication ? "the communication of " : "") + grid.describe(position.rank);
  };
  auto where = [&](const RankPosition &position) {
    return position.segment.empty() ? "the start of its step" : programs[position.rank]->placeText();
  };
  auto culprit = std::find_if(stuckPositions.begin(), stuckPositions.end(), works);
  if (culprit != stuckPositions.end()) {
    int64_t more = std::count_if(culprit + 1, stuckPositions.end(), works);
    return text + who(*culprit) + " does not return from " + where(*culprit) +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
  }
  for (const RankPosition &position : stuckPositions)
    if (position.state == State::Waiting)
      return text + "every rank waits, " + who(position) + " at " + where(position) + " on " + position.waitsOn +
             (position.missing.size() == 1 ? " for rank " : " for ranks ") + rangesText(position.missing);
  return text + "no rank is within its step";
}
