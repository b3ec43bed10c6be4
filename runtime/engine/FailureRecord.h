//===- FailureRecord.h - the first failure of a job ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first rank that fails, or the watchdog, ends the job: all waits end, and ranks stop
// before their next instruction. The positions of all ranks are taken when they have
// stopped, or, of a stuck job, before anything is ended. The record lies in the world's
// memory: where ranks are processes each of them has one, and all say the same.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_FAILURERECORD_H
#define TGPT_RUNTIME_ENGINE_FAILURERECORD_H

#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/plan/RankGrid.h"

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tgpt::runtime {

class FailureRecord {
public:
  /// With communication threads each rank has a second waiter, behind those of all ranks.
  FailureRecord(SharedMemoryWorld &world, const plan::Plan &plan, const RankGrid &grid, bool hasCommunicationThreads);

  /// A waiter of the world has failed. From any thread; keeps the first message and ends the job.
  void add(int64_t waiter, const std::string &what, const std::string &details = {});
  /// What another machine said of a rank: a whole message.
  void addTold(int64_t rank, const std::string &message);
  /// Called with the message of a failure that this record was the first to have.
  std::function<void(const std::string &)> announce;
  /// No rank has advanced for `seconds`: ends the job. `missing` are those whose part of an exchange between steps has
  /// not come.
  void addStuck(double seconds, const std::vector<int64_t> &missing = {});
  /// A rank's process is gone: ends the job. `why` is used where no signal was noted.
  void addDied(int64_t rank, const std::string &why);
  /// A thread has crashed, as the world knows: ends the job.
  void addCrash();

  /// When no rank runs any more, or those that do are lost. Throws JobFailure if the job has ended.
  void throwIfAny(bool hasLostThreads = false);
  bool hasLostThreads() const { return made && made->hasLostThreads(); }
  /// Whether this record, not another process's, found the job stuck: then it alone knows where ranks were before.
  bool foundStuck() const { return isStuckHere; }
  /// Returns when all ranks that live have stopped, or a moment is over.
  void awaitRest() const;

private:
  struct Note {
    std::atomic<uint32_t> claimed, written;
    uint32_t isStuck;
    char message[4096], details[4096];
  };

  bool claim(const std::string &message, bool isStuck, const std::string &details = {});
  std::string message() const;
  int64_t stageOf(int64_t rank) const { return grid.stageOf(rank); }
  std::vector<RankPosition> positions() const;
  void describeState(RankPosition &position, int64_t waiter) const;
  std::string whereIs(int64_t waiter) const;
  std::string stuckText(double seconds, const std::vector<int64_t> &missing) const;

  SharedMemoryWorld &world;
  const plan::Plan &plan;
  const RankGrid &grid;
  bool hasCommunicationThreads;
  Note &note;
  std::mutex mutex;
  bool isStuckHere = false;
  std::vector<RankPosition> stuckPositions;
  std::optional<JobFailure> made;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_FAILURERECORD_H
