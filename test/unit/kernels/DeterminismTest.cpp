//===- DeterminismTest.cpp - the same bits, whatever the threads *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <thread>

using namespace tgpt::runtime;
using namespace tgpt::test;

static std::vector<std::vector<char>> bitsOf(const Case &kase, const Kernel &kernel) {
  std::vector<std::vector<char>> bits;
  for (const Tensor &output : kase.run(kernel))
    bits.push_back(output.bytes());
  return bits;
}

/// OpenMP's setting for the calling thread, put back at the end.
class Threads {
public:
  explicit Threads(int count) : before(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before); }

private:
  int before;
};

static std::vector<std::vector<char>> bitsWithThreads(const Case &kase, const Kernel &kernel, int threads) {
  Threads setting(threads);
  return bitsOf(kase, kernel);
}

TEST(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
  for (const Case &kase : largeCases())
    for (const CpuKernelBuild &build : cpuKernelBuilds()) {
      const Kernel &kernel = *findKernel(build.table, kase.kernel);
      auto alone = bitsWithThreads(kase, kernel, 1);
      EXPECT_EQ(alone, bitsWithThreads(kase, kernel, 1)) << build.name << " " << kase.label << ": second run";
      EXPECT_EQ(alone, bitsWithThreads(kase, kernel, 2)) << build.name << " " << kase.label << ": 2 threads";
      EXPECT_EQ(alone, bitsWithThreads(kase, kernel, 5)) << build.name << " " << kase.label << ": 5 threads";
    }
}

/// Ranks are threads that call kernels at the same time, each on its own data.
TEST(Determinism, RanksThatCallAtOnceDoNotDisturbEachOther) {
  constexpr int ranks = 8;
  for (const Case &kase : largeCases()) {
    const Kernel &kernel = *findKernel(KernelBackend::Cpu, kase.kernel);
    auto alone = bitsWithThreads(kase, kernel, 1);
    std::vector<int> same(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] { same[rank] = bitsWithThreads(kase, kernel, 1) == alone; });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(same, std::vector<int>(ranks, 1)) << kase.label;
  }
}
