//===- MegatronEstimateTest.cpp - the estimate against figures worked out by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/MegatronEstimate.h"
#include "StepFixture.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

// 48 layers of 12 h^2 and two norms of 2 h, a last norm, one table.
constexpr double hidden = 6144, block = 48 * (12 * hidden * hidden + 4 * hidden) + 2 * hidden;
constexpr double table = 51200 * hidden, sbh = 2048. * 4 * hidden;

TEST(MegatronEstimateTest, sequenceParallelWithSelectiveRecomputation) {
  Execution run;
  run.tp = 8;
  run.dp = 4;
  run.zero = 1;
  run.microBatch = 4;
  run.sequenceParallel = true;
  run.recompute = Recompute::Attention;
  MegatronEstimate estimate = megatronEstimate(gpt22b(), run);
  EXPECT_DOUBLE_EQ(estimate.parameters, (block + table) / 8);
  EXPECT_DOUBLE_EQ(estimate.stateBytes(), (block + table) / 8 * 9);
  double embedding = 2048 * 4 * (8 + hidden), head = 4 * sbh * (1 + 51200 / hidden);
  EXPECT_DOUBLE_EQ(estimate.activationBytes, (48 * sbh * 34 + embedding + head) / 8);
}

TEST(MegatronEstimateTest, otherwiseTheLayerIsOfPlainTensorParallelism) {
  Execution run;
  run.tp = 8;
  run.pp = 4;
  run.microBatch = 4;
  run.microBatches = 2; // half of what fills the pipeline
  MegatronEstimate estimate = megatronEstimate(gpt22b(), run);
  EXPECT_DOUBLE_EQ(estimate.stateBytes(), (block / 4 + table) / 8 * 18);
  double embedding = 4 * 2048 * 4 * (8 + hidden);
  EXPECT_DOUBLE_EQ(estimate.activationBytes, 1.05 * (48 * sbh * 13 + embedding) / 2);
  run.chunks = 3;
  EXPECT_DOUBLE_EQ(megatronEstimate(gpt22b(), run).activationBytes, 1.05 * (48 * sbh * 13 + embedding) * (1 + 3. / 12));
}

} // namespace
