//===- ThreadTeamTest.cpp - every chunk once, by whoever is free -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Parallel.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace tgpt::runtime::cpu;

template <typename Body> static void runOnTeam(int64_t chunks, int threads, const Body &body) {
  runChunks(chunks, threads, {[](const void *erased, int64_t i) { (*static_cast<const Body *>(erased))(i); }, &body});
}

/// Runs `loops` loops of `chunks` chunks; how many chunks were not computed exactly once.
static int64_t chunksNotComputedOnce(int64_t chunks, int threads, int loops) {
  int64_t wrong = 0;
  for (int loop = 0; loop < loops; ++loop) {
    std::vector<int> computed(chunks); // a chunk has one writer, unless the team is wrong
    runOnTeam(chunks, threads, [&](int64_t i) { ++computed[i]; });
    for (int count : computed)
      wrong += count != 1;
  }
  return wrong;
}

TEST(ThreadTeam, ComputesEveryChunkOnce) {
  for (int threads : {1, 2, 3, 8, 2})
    for (int64_t chunks : {0, 1, 2, 3, 7, 1000})
      EXPECT_EQ(chunksNotComputedOnce(chunks, threads, 20), 0) << chunks << " chunks, " << threads << " threads";
}

TEST(ThreadTeam, SurvivesManyShortLoops) {
  EXPECT_EQ(chunksNotComputedOnce(2, 2, 20000), 0);
  EXPECT_EQ(chunksNotComputedOnce(5, 4, 5000), 0);
}

TEST(ThreadTeam, SharesAsThreadsBecomeFree) {
  std::atomic<int64_t> done = 0;
  constexpr int64_t chunks = 100;
  runOnTeam(chunks, 2, [&](int64_t i) {
    while (i == 0 && done < chunks - 1) // the other thread computes all the rest meanwhile
      std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, chunks);
}

TEST(ThreadTeam, RunsLoopsWithinChunksOnTheirThread) {
  std::atomic<int64_t> elsewhere = 0, inner = 0;
  runOnTeam(8, 4, [&](int64_t) {
    auto own = std::this_thread::get_id();
    runOnTeam(8, 4, [&](int64_t) {
      ++inner;
      elsewhere += std::this_thread::get_id() != own;
    });
  });
  EXPECT_EQ(inner, 64);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadTeam, CallersHaveTeamsOfTheirOwn) {
  std::vector<std::thread> callers;
  std::vector<int64_t> wrong(6, -1);
  for (size_t caller = 0; caller < wrong.size(); ++caller)
    callers.emplace_back([&, caller] { wrong[caller] = chunksNotComputedOnce(9, 3, 500); });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, std::vector<int64_t>(wrong.size(), 0));
}

TEST(ThreadTeam, ChunksCoverTheRange) {
  omp_set_num_threads(3);
  std::atomic<int64_t> sum = 0;
  forChunks(1001, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sum += i;
  });
  EXPECT_EQ(sum, 1000 * 1001 / 2);
}
