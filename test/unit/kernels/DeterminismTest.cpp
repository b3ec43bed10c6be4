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

/// Rows [begin, begin + rows) of a matrix.
static Tensor rowsOf(const Tensor &matrix, int64_t begin, int64_t rows) {
  int64_t width = matrix.dim(-1);
  Tensor part(matrix.dtype(), {rows, width});
  for (int64_t i = 0; i < rows * width; ++i)
    part.set(i, matrix.get(begin * width + i));
  return part;
}

/// In f64 an element of a product depends on its row and column alone: a rank that
/// holds a part of the tokens or of the output features computes the bits of the whole.
TEST(Determinism, PartsOfAnF64ProductHaveTheBitsOfTheWhole) {
  constexpr int64_t rows = 131, k = 600, n = 77, rowBegin = 29, columnBegin = 13;
  Case whole{"linear", "linear", DType::F64, {}, {}, {}};
  whole.inputs = {Tensor(DType::F64, {rows, k}), Tensor(DType::F64, {n, k})};
  whole.outputs = {Tensor(DType::F64, {rows, n})};
  for (Tensor &input : whole.inputs)
    for (int64_t i = 0; i < input.elements(); ++i)
      input.set(i, 1.0 / double(i % 1009 + 3));
  Case part = whole;
  part.inputs = {rowsOf(whole.inputs[0], rowBegin, 50), rowsOf(whole.inputs[1], columnBegin, 31)};
  part.outputs = {Tensor(DType::F64, {50, 31})};
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    Tensor y = whole.run(*findKernel(build.table, "linear"))[0], z = part.run(*findKernel(build.table, "linear"))[0];
    for (int64_t i = 0; i < z.elements(); ++i)
      ASSERT_EQ(z.get(i), y.get((rowBegin + i / 31) * n + columnBegin + i % 31)) << build.name << ": element " << i;
  }
}
