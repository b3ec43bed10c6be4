//===- ThreadTeam.cpp - the threads that share a kernel's chunks -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ticket holds the loop's number of chunks and the next one to compute in one
// word: who moves it on by one has a chunk of the present loop, which cannot end,
// nor its body change, before that chunk is done.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/ThreadTeam.h"

#include <atomic>
#include <memory>
#include <omp.h>
#include <system_error>
#include <thread>
#include <vector>

using namespace tgpt::runtime::cpu;

/// About 20 us: longer than a team waits for its next loop within a step.
static constexpr int spinIterations = 2000;

/// Threads of all teams, their callers included.
static std::atomic<int> teamThreads = 0;

static void relaxCore() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Returns when `word` is no longer `old`. Spins first, unless the threads do not
/// all have a core: then another needs this one.
static void waitForChange(const std::atomic<uint32_t> &word, uint32_t old) {
  int spins =
      teamThreads.load(std::memory_order_relaxed) <= int(std::thread::hardware_concurrency()) ? spinIterations : 0;
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old)
      return;
    relaxCore();
  }
  word.wait(old, std::memory_order_acquire);
}

namespace {
class ThreadTeam {
public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();

  int size() const { return wanted; }
  void run(uint32_t chunks, ChunkBody body);

private:
  void serve();
  bool computeOne();

  const int wanted;
  std::vector<std::thread> helpers;
  ChunkBody body{};
  alignas(64) std::atomic<uint64_t> ticket{0}; // chunks << 32 | next
  alignas(64) std::atomic<uint32_t> done{0};   // chunks of the present loop
  alignas(64) std::atomic<uint32_t> loops{0};  // started; helpers sleep on it
  std::atomic<bool> stopping{false};
};
} // namespace

static thread_local std::unique_ptr<ThreadTeam> ownTeam;
static thread_local bool insideChunk = false;

ThreadTeam::ThreadTeam(int threads) : wanted(threads) {
  helpers.reserve(threads - 1);
  try {
    while (int(helpers.size()) < threads - 1)
      helpers.emplace_back([this] { serve(); });
  } catch (const std::system_error &) {
    // The chunks are shared by the threads that there are.
  }
  teamThreads += int(helpers.size()) + 1;
}

ThreadTeam::~ThreadTeam() {
  stopping.store(true);
  loops.fetch_add(1);
  loops.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
  teamThreads -= int(helpers.size()) + 1;
}

/// Computes the next chunk of the present loop; false when all are taken.
bool ThreadTeam::computeOne() {
  uint64_t seen = ticket.load(std::memory_order_acquire);
  do {
    if (uint32_t(seen) >= uint32_t(seen >> 32))
      return false;
  } while (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  body(uint32_t(seen));
  if (done.fetch_add(1) + 1 == uint32_t(seen >> 32))
    done.notify_one();
  return true;
}

void ThreadTeam::serve() {
  omp_set_num_threads(1); // kernels ask OpenMP how many threads they may use
  insideChunk = true;
  while (true) {
    uint32_t seen = loops.load(std::memory_order_acquire);
    while (computeOne()) {
    }
    if (stopping.load())
      return;
    waitForChange(loops, seen);
  }
}

void ThreadTeam::run(uint32_t chunks, ChunkBody given) {
  body = given;
  done.store(0, std::memory_order_relaxed);
  ticket.store(uint64_t(chunks) << 32, std::memory_order_release);
  loops.fetch_add(1);
  loops.notify_all();
  insideChunk = true;
  while (computeOne()) {
  }
  insideChunk = false;
  for (uint32_t finished = done.load(std::memory_order_acquire); finished != chunks;
       finished = done.load(std::memory_order_acquire))
    waitForChange(done, finished);
}

void tgpt::runtime::cpu::runChunks(int64_t chunks, int threads, ChunkBody body) {
  if (chunks < 2 || threads < 2 || insideChunk || chunks > INT32_MAX) {
    for (int64_t i = 0; i < chunks; ++i)
      body(i);
    return;
  }
  if (!ownTeam || ownTeam->size() != threads) {
    ownTeam.reset();
    ownTeam = std::make_unique<ThreadTeam>(threads);
  }
  ownTeam->run(uint32_t(chunks), body);
}
