//===- CudnnPlanTest.cpp - what the real cuDNN plans for us -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN plans for GPUs that are described to it: it needs none. What the plans compute, only
// a GPU can say (tgpt_cuda_device_test there).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cudnn/CudnnPlan.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

namespace {
struct Gpu {
  const char *name;
  int architecture, multiprocessors, sharedBytes, cacheBytes;
  bool keepsScores() const { return architecture < 100; }
};
} // namespace

static constexpr Gpu gpus[] = {
    {"A100", 80, 108, 166912, 41943040}, {"H100", 90, 132, 232448, 52428800}, {"B200", 100, 148, 232448, 132644864}};

/// As cuDNN writes a device down.
static std::string describe(const Gpu &gpu) {
  char text[1024];
  std::snprintf(text, sizeof(text), R"({"deviceName": "%s", "deviceVer": %d, "multiProcessorCount": %d,
    "maxSharedMemoryPerBlockOptin": %d, "l2CacheSize": %d, "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 80000000000,
    "smClockRateKHz": 1400000, "memClockRateKHz": 1500000, "cudaDeviceId": 0, "driverVer": 13000})",
                gpu.name, 10 * gpu.architecture, gpu.multiprocessors, gpu.sharedBytes, gpu.cacheBytes);
  return text;
}

static AttentionProblem problem(bool isGradient, int64_t batch, int64_t sequence, int64_t heads, int64_t kvHeads,
                                int64_t headDim, bool causal = true, DType dtype = DType::BF16) {
  AttentionProblem p;
  p.isGradient = isGradient, p.causal = causal, p.dtype = dtype, p.scale = 0.125;
  p.batch = batch, p.sequence = sequence, p.heads = heads, p.kvHeads = kvHeads, p.headDim = headDim;
  return p;
}

/// Every shape that attentionProblem lets through has a plan with the same bits every time, which fits the workspace
/// that a plan of ours reserves; that is the formula which shares nothing with the library.
TEST(CudnnPlan, WorkspaceIsWithinOurFormula) {
  for (const Gpu &gpu : gpus)
    for (bool isGradient : {false, true})
      for (const AttentionProblem &p :
           {problem(isGradient, 16, 1024, 12, 12, 64), problem(isGradient, 2, 4096, 32, 8, 128),
            problem(isGradient, 1, 70, 4, 2, 64, false), problem(isGradient, 1, 8, 2, 2, 8),
            problem(isGradient, 3, 130, 4, 1, 96, true, DType::F16)}) {
        size_t most = libraryWorkspaceBytes(p, gpu.keepsScores());
        CudnnPlan plan(p, most, describe(gpu), gpu.architecture);
        ASSERT_TRUE(plan.isUsable()) << gpu.name << ": " << p.key() << ": " << plan.whyNot();
        EXPECT_LE(plan.workspaceBytes(), most) << gpu.name << ": " << p.key();
        if (!p.isGrouped() && p.sequence % 128 == 0) {
          EXPECT_GE(plan.workspaceBytes() + 1024, most) << gpu.name << ": " << p.key() << ": asked for in vain";
        }
      }
}

TEST(CudnnPlan, ASmallerWorkspaceIsARefusal) {
  AttentionProblem p = problem(true, 2, 256, 4, 2, 64);
  size_t most = libraryWorkspaceBytes(p, true);
  EXPECT_TRUE(CudnnPlan(p, most, describe(gpus[1]), gpus[1].architecture).isUsable());
  CudnnPlan plan(p, most / 2, describe(gpus[1]), gpus[1].architecture);
  EXPECT_FALSE(plan.isUsable());
  EXPECT_EQ(plan.whyNot().substr(0, 7), "cuDNN: ");
}

/// Larger heads and a single position are refused by some, in words of one line.
TEST(CudnnPlan, WhatTheLibraryCannotIsARefusal) {
  for (const AttentionProblem &p : {problem(true, 1, 1, 2, 2, 64), problem(false, 1, 64, 2, 2, 12)}) {
    CudnnPlan plan(p, libraryWorkspaceBytes(p, true), describe(gpus[1]), gpus[1].architecture);
    EXPECT_FALSE(plan.isUsable()) << p.key();
    EXPECT_EQ(plan.whyNot().find('\n'), std::string::npos);
  }
}

TEST(CudnnPlan, ADeviceThatIsNoneIsARefusal) {
  AttentionProblem p = problem(false, 1, 64, 2, 2, 64);
  EXPECT_FALSE(CudnnPlan(p, libraryWorkspaceBytes(p, true), "{}", 90).isUsable());
}
