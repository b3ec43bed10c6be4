//===- test/unit/training/LearningRateTest.cpp - warm-up, decay, and what makes no sense ------------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/LearningRate.h"

#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <cmath>

using namespace tgpt::runtime;

TEST(LearningRate, ConstantAfterALinearWarmup) {
  LearningRate rate{.peak = 0.8, .warmupSteps = 4};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(3), 0.6);
  EXPECT_DOUBLE_EQ(rate.at(4), 0.8);
  EXPECT_DOUBLE_EQ(rate.at(1000), 0.8);
  EXPECT_DOUBLE_EQ(LearningRate{.peak = 0.8}.at(1), 0.8);
}

TEST(LearningRate, CosineFallsToTheMinimum) {
  LearningRate rate{
      .shape = LearningRate::Shape::Cosine, .peak = 1, .minimum = 0.1, .warmupSteps = 10, .decaySteps = 110};
  EXPECT_DOUBLE_EQ(rate.at(10), 1);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.55);
  EXPECT_DOUBLE_EQ(rate.at(35), 0.1 + 0.45 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(rate.at(110), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(500), 0.1);
  for (int step = 11; step <= 110; ++step)
    EXPECT_LT(rate.at(step), rate.at(step - 1));
}

TEST(LearningRate, CosineWithoutRoomForDecay) {
  LearningRate rate{.shape = LearningRate::Shape::Cosine, .peak = 1, .warmupSteps = 5, .decaySteps = 5};
  rate.validate();
  EXPECT_DOUBLE_EQ(rate.at(5), 1);
  EXPECT_DOUBLE_EQ(rate.at(6), 0);
}

TEST(LearningRate, RefusesWhatMakesNoSense) {
  auto refusal = [](LearningRate rate) { return messageOf<Error>([&] { rate.validate(); }); };
  EXPECT_NE(refusal({.peak = -1}).find("--lr is -1"), std::string::npos);
  EXPECT_NE(refusal({.peak = std::nan("")}).find("--lr is nan"), std::string::npos);
  EXPECT_NE(refusal({.peak = 1e-3, .minimum = 1}).find("--min-lr is 1"), std::string::npos);
  EXPECT_NE(refusal({.warmupSteps = -2}).find("--warmup-steps is -2"), std::string::npos);
  EXPECT_NE(refusal({.shape = LearningRate::Shape::Cosine, .warmupSteps = 20, .decaySteps = 10})
                .find("ends at step 10, before the warm-up does (20)"),
            std::string::npos);
}
