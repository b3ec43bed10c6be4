//===- test/unit/training/StepFeedTest.cpp - ranks get what they ask for --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/StepFeed.h"

#include "runtime/data/SyntheticTokens.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <vector>

using namespace tgpt::runtime;

namespace {
struct StepFeedTest : testing::Test {
  SyntheticTokens source{1, 50, 401};
  Batches batches{source, {.sequenceLength = 4, .microBatchSamples = 2, .microBatches = 3, .dataParallel = 2}, 7};
  StepFeed feed{batches};
  std::vector<int32_t> ids = std::vector<int32_t>(8), expected = std::vector<int32_t>(8);

  TensorView view(DType dtype = DType::I32, int64_t rows = 2) {
    return {.data = ids.data(), .dtype = dtype, .rank = 2, .shape = {rows, 4}};
  }
};
} // namespace

TEST_F(StepFeedTest, TokensAndLabelsAreThoseOfTheBatches) {
  feed.firstDraw = 24;
  feed.fill("tokens", 1, 2, view());
  batches.fillTokens(24, 1, 2, expected);
  EXPECT_EQ(ids, expected);
  feed.fill("labels", 0, 1, view());
  batches.fillLabels(24, 0, 1, expected);
  EXPECT_EQ(ids, expected);
}

TEST_F(StepFeedTest, SamplesAreNumberedWithinTheStep) {
  feed.firstDraw = 24;
  TensorView samples{.data = ids.data(), .dtype = DType::I32, .rank = 1, .shape = {2}};
  feed.fill("samples", 1, 2, samples); // the last micro-batch of 2 x 3 x 2 samples
  EXPECT_EQ(ids[0], 10);
  EXPECT_EQ(ids[1], 11);
  samples.shape = {3};
  EXPECT_NE(messageOf<Error>([&] { feed.fill("samples", 0, 0, samples); }).find("3 elements, expected i32 with 2"),
            std::string::npos);
}

TEST_F(StepFeedTest, ScalarsComeInTheDestinationsDtype) {
  feed.step = 12;
  feed.learningRate = 0.125;
  float narrow = 0;
  double wide = 0;
  feed.fill("learning_rate", 0, -1, {.data = &narrow, .dtype = DType::F32});
  feed.fill("step", 0, -1, {.data = &wide, .dtype = DType::F64});
  EXPECT_EQ(narrow, 0.125f);
  EXPECT_EQ(wide, 12.0);
  feed.fill("step", 0, 0, {.data = ids.data(), .dtype = DType::I32});
  EXPECT_EQ(ids[0], 12);
}

TEST_F(StepFeedTest, RefusesWhatItCannotFill) {
  EXPECT_NE(messageOf<Error>([&] { feed.fill("mask", 0, 0, view()); }).find("asks for input 'mask'"),
            std::string::npos);
  EXPECT_NE(messageOf<Error>([&] { feed.fill("tokens", 0, 0, view(DType::I32, 1)); }).find("4 elements, expected"),
            std::string::npos);
  EXPECT_NE(messageOf<Error>([&] { feed.fill("tokens", 0, 0, view(DType::F32)); }).find("is f32"), std::string::npos);
}
