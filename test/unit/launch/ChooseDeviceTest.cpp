//===- ChooseDeviceTest.cpp - which GPU a rank gets -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/ChooseDevice.h"
#include "runtime/plan/Error.h"

#include <gtest/gtest.h>

using namespace tgpt::runtime;

static std::string errorOf(const auto &call) {
  try {
    call();
    return "none";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(ChooseDevice, IsTheLocalRankWhereAllAreVisible) {
  for (int64_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(chooseDevice({rank, 8, 8}), rank);
  EXPECT_EQ(chooseDevice({3, 4, 8, "4,5,6,7,0,1,2,3"}), 3); // numbers are among the visible ones
}

TEST(ChooseDevice, IsTheOnlyOneWhereTheLauncherGaveEachItsOwn) {
  EXPECT_EQ(chooseDevice({5, 8, 1, "5"}), 0);
  EXPECT_EQ(chooseDevice({0, 1, 1}), 0);
}

TEST(ChooseDevice, TooFewAreAnErrorWithNumbers) {
  EXPECT_EQ(
      errorOf([] {
        chooseDevice({2, 8, 2, "0,1"});
      }),
      "8 ranks of this machine need a GPU each, but local rank 2 sees only 2 GPUs (CUDA_VISIBLE_DEVICES is '0,1'): "
      "start at most 2 here, with a plan for as many, or use more machines");
  EXPECT_EQ(errorOf([] {
              chooseDevice({1, 2, 1});
            }),
            "2 ranks of this machine need a GPU each, but local rank 1 sees only 1 GPU: start at most 1 here, with a "
            "plan for as many, or use more machines");
  EXPECT_EQ(errorOf([] {
              chooseDevice({1, 2, 0, ""});
            }),
            "no GPU is visible to local rank 1 (CUDA_VISIBLE_DEVICES is '')");
}

TEST(ChooseDevice, OfThreadsIsInTheirOrder) {
  EXPECT_EQ(chooseDevices(3, 4, {}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(errorOf([] { chooseDevices(4, 1, "2"); }),
            "the plan is for 4 ranks, which need a GPU each, but only 1 GPU is visible (CUDA_VISIBLE_DEVICES is '2'): "
            "compile it for at most 1, or use more machines");
}

TEST(ChooseDevice, NoneAtAllIsAnErrorOfItsOwn) {
  EXPECT_EQ(errorOf([] { chooseDevices(1, 0, ""); }), "no GPU is visible (CUDA_VISIBLE_DEVICES is '')");
}

TEST(ChooseDevice, TwoRanksWithOneDeviceAreAnError) {
  EXPECT_EQ(errorOf([] {
              checkClaims({{0, "a", "node1", "0000:01:00.0"}, {1, "b", "node2", "0000:01:00.0"}});
            }),
            "none");
  EXPECT_EQ(errorOf([] {
              checkClaims({{0, "a", "node1", "0000:01:00.0"},
                           {1, "a", "node1", "0000:41:00.0"},
                           {2, "a", "node1", "0000:01:00.0"}});
            }),
            "ranks 0 and 2 have one GPU, 0000:01:00.0 of node1: give each its own by LOCAL_RANK, or by "
            "CUDA_VISIBLE_DEVICES");
}

TEST(ChooseDevice, VisibleOnesAreCountedAsCudaDoes) {
  EXPECT_EQ(countVisible(8, {}), 8);
  EXPECT_EQ(countVisible(8, ""), 0);
  EXPECT_EQ(countVisible(8, "3"), 1);
  EXPECT_EQ(countVisible(8, "7,0,3"), 3);
  EXPECT_EQ(countVisible(8, "0,-1,1"), 1);
  EXPECT_EQ(countVisible(8, "0,8"), 1);
  EXPECT_EQ(countVisible(8, "all"), 0);
}
