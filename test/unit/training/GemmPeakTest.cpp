//===- test/unit/training/GemmPeakTest.cpp - the yardstick is measured, or absent -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/GemmPeak.h"

#include <gtest/gtest.h>

using namespace tgpt::runtime;

TEST(GemmPeak, IsMeasuredThroughTheLinearKernel) {
  int calls = 0;
  KernelSet counting = cpuKernels();
  auto find = counting.find;
  counting.find = [&](std::string_view opcode, const KernelCall &call) {
    ++calls;
    EXPECT_EQ(opcode, "linear");
    EXPECT_EQ(call.inputs[0].dtype, DType::BF16);
    EXPECT_EQ(call.outputs[0].bytes(), 768u * 768 * 2);
    return find(opcode, call);
  };
  EXPECT_GT(measureCoreGemmFlopsPerSecond(counting, DType::BF16), 1e6);
  EXPECT_EQ(calls, 1);
}

TEST(GemmPeak, IsZeroWithoutALinearKernel) {
  KernelSet none;
  none.find = [](std::string_view, const KernelCall &) { return ResolvedKernel{}; };
  EXPECT_EQ(measureCoreGemmFlopsPerSecond(none, DType::F32), 0);
}

TEST(GemmPeak, SomeCoreIsAvailable) {
  EXPECT_GE(availableCores(), 1);
}
