//===- RankTeam.cpp - one persistent thread per rank ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads sleep between tasks; kernels on a rank's thread use its share of OpenMP
// threads. Debuggers and top show the threads as "rank 3".
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/RankTeam.h"
#include "runtime/plan/Error.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <system_error>

using namespace tgpt::runtime;

/// Binds the calling thread, and the threads it will start, to its rank's cores
/// among those the process may use.
static void pinToCores(int64_t rank, int threadsPerRank) {
  cpu_set_t allowed, own;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed))
      cores.push_back(core);
  CPU_ZERO(&own);
  for (int i = 0; i < threadsPerRank && !cores.empty(); ++i)
    CPU_SET(cores[(rank * threadsPerRank + i) % cores.size()], &own);
  ::pthread_setaffinity_np(::pthread_self(), sizeof(own), &own);
}

RankTeam::RankTeam(const std::vector<int64_t> &ranks, int threadsPerRank, bool pinThreads) {
  threads.reserve(ranks.size());
  try {
    for (int64_t rank : ranks)
      threads.emplace_back([=, this] { serve(rank, threadsPerRank, pinThreads); });
  } catch (const std::system_error &error) {
    std::string started = std::to_string(threads.size());
    stop();
    throw Error("cannot start " + std::to_string(ranks.size()) + " rank threads, only " + started + ": " +
                error.what());
  }
}

RankTeam::~RankTeam() {
  stop();
}

void RankTeam::stop() {
  stopping = true;
  taskNumber.fetch_add(1);
  start.signal();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void RankTeam::serve(int64_t rank, int threadsPerRank, bool pin) {
  ::pthread_setname_np(::pthread_self(), ("rank " + std::to_string(rank)).c_str());
  if (pin)
    pinToCores(rank, threadsPerRank);
  omp_set_num_threads(threadsPerRank);
  for (uint32_t done = 0;; ++done) {
    while (true) {
      uint32_t seen = start.load();
      if (taskNumber.load(std::memory_order_acquire) != done)
        break;
      start.wait(seen);
    }
    if (stopping)
      return;
    task->run(rank);
    if (running.fetch_sub(1) == 1)
      finish.signal();
  }
}

void RankTeam::begin(RankTask &given) {
  task = &given;
  running.store(static_cast<int64_t>(threads.size()));
  taskNumber.fetch_add(1);
  start.signal();
}

bool RankTeam::run(RankTask &given, TaskMonitor &monitor) {
  begin(given);
  while (true) {
    uint32_t seen = finish.load();
    if (running.load() == 0)
      return true;
    if (!finish.waitFor(seen, monitor.pollSeconds()) && !monitor.goOn())
      return false;
  }
}

void RankTeam::run(RankTask &given) {
  begin(given);
  while (true) {
    uint32_t seen = finish.load();
    if (running.load() == 0)
      return;
    finish.wait(seen);
  }
}
