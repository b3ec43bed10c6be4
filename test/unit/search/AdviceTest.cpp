//===- AdviceTest.cpp - what would make a plan possible ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Advice.h"
#include "SearchFixture.h"
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::search;

namespace {

TEST(AdviceTest, namesTheNearestLegalValues) {
  Problem problem = smallProblem(7, 16); // 7 divides neither heads nor layers nor batch
  EXPECT_FALSE(hasCandidate(problem));
  EXPECT_EQ(nearestLegal(problem), (std::vector<std::string>{"--gpus=6", "--global-batch=14"}));
  problem = smallProblem(8, 16);
  EXPECT_TRUE(hasCandidate(problem));
  problem.pins.tp = 5;
  EXPECT_FALSE(hasCandidate(problem));
  // tp 5 is no divisor of the heads either, whatever the GPUs and the batch.
  EXPECT_EQ(nearestLegal(problem), (std::vector<std::string>{"--tp=4"}));
}

TEST(AdviceTest, remediesFit) {
  Problem problem = smallProblem(8, 16);
  problem.memoryBytes = 1.2e8;
  problem.pins.recompute = cost::Recompute::None;
  problem.pins.zero = 0;
  ASSERT_TRUE(search::search(problem).ranked.empty());
  std::vector<Remedy> remedies = remediesOf(problem);
  ASSERT_FALSE(remedies.empty());
  for (const Remedy &remedy : remedies)
    EXPECT_LE(remedy.plan.bytes, problem.memoryBytes) << remedy.change;
  EXPECT_EQ(remedies.back().change, "--gpus=24"); // the smallest multiple that does
  problem.gpus = 16;
  EXPECT_TRUE(search::search(problem).ranked.empty());
}

TEST(AdviceTest, noRemedyWhereAlreadyOneLayerIsTooLarge) {
  Problem problem = smallProblem(8, 16);
  problem.memoryBytes = 1e4;
  EXPECT_TRUE(remediesOf(problem).empty());
}

} // namespace
