//===- FailureRecord.h - the first failure of a job ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first rank that fails, or the watchdog, ends the job: all waits end, and ranks stop
// before their next instruction. The positions of all ranks are taken when they have
// stopped, or, of a stuck job, before anything is ended.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_FAILURERECORD_H
#define TGPT_RUNTIME_ENGINE_FAILURERECORD_H

#include "runtime/comm/InProcessWorld.h"
#include "runtime/engine/CommunicationThread.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/engine/RankProgram.h"

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tgpt::runtime {

class FailureRecord {
public:
  using Programs = std::vector<std::unique_ptr<RankProgram>>;
  using Communication = std::vector<std::unique_ptr<CommunicationThread>>;

  /// The programs by rank, and the communication threads, of which there may be none.
  FailureRecord(InProcessWorld &world, const RankGrid &grid, const Programs &programs,
                const Communication &communication)
      : world(world), grid(grid), programs(programs), communication(communication) {}

  /// A waiter of the world has failed. From any thread; keeps the first message and ends the job.
  void add(int64_t waiter, const std::string &what);
  /// No rank has advanced for `seconds`: ends the job.
  void addStuck(double seconds);

  /// When no rank runs any more, or those that do are lost. Throws JobFailure if the job has ended.
  void throwIfAny(bool hasLostThreads = false);
  bool hasLostThreads() const { return made && made->hasLostThreads(); }

private:
  std::vector<RankPosition> positions() const;
  void describeState(RankPosition &position, int64_t waiter) const;
  std::string stuckText(double seconds) const;

  InProcessWorld &world;
  const RankGrid &grid;
  const Programs &programs;
  const Communication &communication;
  std::mutex mutex;
  std::string message; // the first one; empty: all is well
  bool isStuck = false;
  std::set<int64_t> failed; // waiters
  std::vector<RankPosition> stuckPositions;
  std::optional<JobFailure> made;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_FAILURERECORD_H
