//===- EmulatorTest.cpp - what emulation computes and catches ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each error has a kernel that makes it, and its twin that does not.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Launch.h"
#include "runtime/kernels/cuda/Reduce.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime::cuda::emulated;
using tgpt::runtime::KernelStatus;

/// What the launch says, without the place: "EmulatorTest.cpp:12: ".
static std::string errorOf(const KernelStatus &status) {
  if (status.ok())
    return "";
  std::string text = status.error, file = "EmulatorTest.cpp:";
  size_t begin = text.find(file);
  EXPECT_EQ(begin, 0u) << text;
  return text.substr(text.find(": ") + 2);
}

__global__ void writeNumbers(int *to) {
  int block = int(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  int thread = int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  to[block * int(blockDim.x * blockDim.y * blockDim.z) + thread] += block * 1000 + thread;
}

TEST(Emulator, RunsEveryThreadOfEveryBlockOnce) {
  std::vector<int> numbers(3 * 2 * 2 * 5 * 7 * 2);
  ASSERT_TRUE(launch(LaunchShape(dim3(3, 2, 2), dim3(5, 7, 2)), writeNumbers, numbers.data()).ok());
  for (int i = 0; i < int(numbers.size()); ++i)
    ASSERT_EQ(numbers[i], i / 70 * 1000 + i % 70);
}

__global__ void reverseBlock(int *data) {
  TGPT_SHARED(int, copy, 64);
  copy[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

TEST(Emulator, BarriersOrderSharedMemory) {
  for (emulation::Order order : {emulation::Order::Ascending, emulation::Order::Descending}) {
    emulation::setOrder(order);
    std::vector<int> data(50);
    std::iota(data.begin(), data.end(), 0);
    ASSERT_TRUE(launch(LaunchShape(1, 50), reverseBlock, data.data()).ok());
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(data[i], 49 - i);
  }
  emulation::setOrder(emulation::Order::Ascending);
}

__global__ void shuffles(int *to) {
  int lane = int(threadIdx.x) % 32;
  int *own = to + threadIdx.x * 6;
  own[0] = __shfl_down_sync(0xffffffffu, lane, 3);
  own[1] = __shfl_up_sync(0xffffffffu, lane, 3);
  own[2] = __shfl_xor_sync(0xffffffffu, lane, 5);
  own[3] = __shfl_sync(0xffffffffu, lane, 7);
  own[4] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  own[5] = int(__ballot_sync(0xffffffffu, lane % 3 == 0));
}

TEST(Emulator, ShufflesAreThoseOfTheDevice) {
  std::vector<int> got(64 * 6);
  ASSERT_TRUE(launch(LaunchShape(1, 64), shuffles, got.data()).ok());
  for (int thread = 0; thread < 64; ++thread) {
    int lane = thread % 32;
    const int *own = &got[thread * 6];
    EXPECT_EQ(own[0], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(own[1], lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(own[2], lane ^ 5);
    EXPECT_EQ(own[3], 7);
    EXPECT_EQ(own[4], lane % 8 + 3 < 8 ? lane + 3 : lane);
    EXPECT_EQ(uint32_t(own[5]), 0x49249249u);
  }
}

template <int Threads> __global__ void sumUp(const double *x, double *sum) {
  double total = sumOverBlock<Threads>(x[threadIdx.x]);
  sum[threadIdx.x] = total + sumOverBlock<Threads>(1.0);
}

TEST(Emulator, ReductionsGiveEveryThreadTheSum) {
  std::vector<double> x(1024), sums(1024);
  std::iota(x.begin(), x.end(), 0.0);
  ASSERT_TRUE(launch(LaunchShape(1, 32), sumUp<32>, x.data(), sums.data()).ok());
  EXPECT_EQ(sums[31], 31 * 16 + 32);
  ASSERT_TRUE(launch(LaunchShape(1, 1024), sumUp<1024>, x.data(), sums.data()).ok());
  for (double sum : sums)
    ASSERT_EQ(sum, 1023 * 512 + 1024);
}

__global__ void barrierUnless(int leaver, int elsewhere) {
  if (int(threadIdx.x) == leaver)
    return;
  if (int(threadIdx.x) == elsewhere) {
    __syncthreads();
    return;
  }
  __syncthreads();
}

TEST(Emulator, DivergentBarriersAreErrors) {
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 40), barrierUnless, -1, -1)), "");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 40), barrierUnless, 35, -1)),
            "divergent __syncthreads: thread 0 waits there, but thread 35 has returned");
  std::string error = errorOf(launch(LaunchShape(1, 40), barrierUnless, -1, 7));
  EXPECT_EQ(error.substr(0, error.rfind(':')), "divergent __syncthreads: thread 0 waits there, but thread 7 waits at "
                                               "__syncthreads, EmulatorTest.cpp");
}

__global__ void shuffleUnless(int leaver, int waiter, uint32_t mask, int laneMask) {
  if (int(threadIdx.x) == leaver)
    return;
  if (int(threadIdx.x) == waiter)
    __syncthreads();
  __shfl_xor_sync(mask, 1, laneMask);
}

TEST(Emulator, ShufflesWithoutTheirLanesAreErrors) {
  auto run = [](unsigned threads, int leaver, int waiter, uint32_t mask, int laneMask = 1) {
    std::string error = errorOf(launch(LaunchShape(1, threads), shuffleUnless, leaver, waiter, mask, laneMask));
    return error.substr(0, error.rfind(".cpp:"));
  };
  EXPECT_EQ(run(32, -1, -1, 0xffffffffu), "");
  EXPECT_EQ(run(2, -1, -1, 3), "");
  std::string missing = "shuffle or __syncwarp without its lanes: thread 0 waits with mask 4294967295 for lane ";
  EXPECT_EQ(run(32, 9, -1, 0xffffffffu), missing + "9, which has returned");
  EXPECT_EQ(run(32, -1, 9, 0xffffffffu), missing + "9, which waits at __syncthreads, EmulatorTest");
  EXPECT_EQ(run(20, -1, -1, 0xffffffffu), missing + "20, but the warp has 20 lanes");
  EXPECT_EQ(run(2, -1, -1, 1), "thread 1: shuffle or __syncwarp: lane 1 is not in its own mask 1");
  EXPECT_EQ(run(2, -1, -1, 3, 4), "shuffle: lane 0 reads lane 4, which is not in mask 3");
}

__global__ void touchShared(int64_t at, int64_t dynamicAt) {
  TGPT_SHARED(float, fixed, 10);
  TGPT_DYNAMIC_SHARED(float, dynamic);
  fixed[at] = 1;
  dynamic[dynamicAt] = 1;
}

TEST(Emulator, SharedMemoryHasBounds) {
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1, 32), touchShared, 9, 7)), "");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1, 32), touchShared, 10, 7)),
            "thread 0: shared memory: element 10 of an array of 10");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1, 32), touchShared, -1, 7)),
            "thread 0: shared memory: element -1 of an array of 10");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1, 32), touchShared, 9, 8)),
            "thread 0: shared memory: element 8 of an array of 8");
}

__global__ void readUnwritten(float *to) {
  TGPT_SHARED(float, fixed, 4);
  *to = fixed[2];
  fixed[2] = 1; // the next block must not see it
}

TEST(Emulator, SharedMemoryBeginsAsNan) {
  float value = 0;
  ASSERT_TRUE(launch(LaunchShape(2, 1), readUnwritten, &value).ok());
  EXPECT_TRUE(std::isnan(value));
}

__global__ void copyVector(const float *from, float *to) {
  storePack(to, loadPack<4>(from));
}

TEST(Emulator, MisalignedVectorsAreErrors) {
  alignas(16) float from[8] = {0, 1, 2, 3, 4, 5}, to[8] = {};
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1), copyVector, from, to)), "");
  EXPECT_EQ(to[3], 3);
  auto what = [&](const float *a, float *b) {
    std::string error = errorOf(launch(LaunchShape(1, 1), copyVector, a, b));
    return error.substr(0, error.find(": address"));
  };
  EXPECT_EQ(what(from + 1, to), "thread 0: misaligned vector access");
  EXPECT_EQ(what(from, to + 2), "thread 0: misaligned vector access");
}

__global__ void waitForFlag(volatile int *flag, int setter) {
  if (int(threadIdx.x) == setter) {
    __syncthreads();
    *flag = 1;
    return;
  }
  while (!*flag)
    __nanosleep(20);
  __syncthreads();
}

__global__ void handOver(volatile int *flag) {
  if (threadIdx.x == 1)
    *flag = 1;
  while (!*flag)
    __nanosleep(20);
}

TEST(Emulator, DeadlocksAreErrors) {
  volatile int flag = 0;
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 2), handOver, &flag)), "") << "spinning for what comes is none";
  flag = 0;
  std::string error = errorOf(launch(LaunchShape(1, 2), waitForFlag, &flag, 0));
  EXPECT_EQ(error.substr(0, error.rfind(':')),
            "deadlock: thread 1 spins, while thread 0 waits at __syncthreads, EmulatorTest.cpp");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 1), waitForFlag, &flag, 5)), "deadlock: thread 0 spins");
}

TEST(Emulator, ImpossibleLaunchesAreErrors) {
  std::vector<int> numbers(2048);
  EXPECT_EQ(errorOf(launch(LaunchShape(1, dim3(1024, 2)), writeNumbers, numbers.data())),
            "launch: block (1024,2,1) has 2048 threads, expected 1 to 1024");
  EXPECT_EQ(errorOf(launch(LaunchShape(0, 32), writeNumbers, numbers.data())),
            "launch: grid (0,1,1), expected (1,1,1) to (2147483647,65535,65535)");
  EXPECT_EQ(errorOf(launch(LaunchShape(1, 32, 300000), writeNumbers, numbers.data())),
            "launch: 300000 bytes of shared memory, expected at most 232448");
}

/// After an error the stacks it left serve other launches.
TEST(Emulator, GoesOnAfterErrors) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(launch(LaunchShape(1, 1000), barrierUnless, 999, -1).ok());
    std::vector<double> x(1024, 1.0), sums(1024);
    ASSERT_TRUE(launch(LaunchShape(1, 1024), sumUp<1024>, x.data(), sums.data()).ok());
    EXPECT_EQ(sums[77], 2048);
  }
}
