//===- RankTeam.h - one persistent thread per rank --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_RANKTEAM_H
#define TGPT_RUNTIME_ENGINE_RANKTEAM_H

#include "runtime/comm/EventWord.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tgpt::runtime {

/// Something that all ranks do together.
class RankTask {
public:
  virtual ~RankTask() = default;
  /// Called once on each rank's thread; does not throw.
  virtual void run(int64_t rank) noexcept = 0;
};

/// Asked now and then while a task runs, on the thread that waits for it.
class TaskMonitor {
public:
  virtual ~TaskMonitor() = default;
  virtual double pollSeconds() const = 0;
  /// Whether to wait on for ranks that are not done.
  virtual bool goOn() = 0;
};

class RankTeam {
public:
  /// Of those of the ranks that are threads of this process.
  RankTeam(const std::vector<int64_t> &ranks, int threadsPerRank, bool pinThreads);
  ~RankTeam();

  /// Runs a task on all ranks and returns when all are done. Allocates nothing.
  void run(RankTask &task);
  /// False when the monitor gave up: then some threads are still in the task, and both it and this team must live
  /// as long as the process.
  bool run(RankTask &task, TaskMonitor &monitor);

private:
  void serve(int64_t rank, int threadsPerRank, bool pin);
  void begin(RankTask &task);
  void stop();

  std::vector<std::thread> threads;
  RankTask *task = nullptr;
  bool stopping = false;
  EventWord start;
  EventWord finish;
  std::atomic<uint32_t> taskNumber{0};
  std::atomic<int64_t> running{0};
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_RANKTEAM_H
