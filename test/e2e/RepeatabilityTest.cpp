//===- test/e2e/RepeatabilityTest.cpp - the same plan gives the same bits; many ranks; low precision -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/Outcome.h"
#include "test/e2e/Values.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

plan::Plan compile(const std::string &flags) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / "nano.yaml", "--seed=3 " + flags);
}

Outcome train(const plan::Plan &plan, int steps, int threadsPerRank = 1) {
  JobOptions options;
  options.threadsPerRank = threadsPerRank;
  return outcomeOf(plan, options, steps);
}

} // namespace

// Which rank arrives first at a collective must not matter, in any dtype.
TEST(RepeatabilityTest, TwoRunsGiveTheSameBits) {
  for (const char *dtype : {"f64", "f32", "bf16", "f16 --loss-scale=64"}) {
    plan::Plan plan =
        compile("--tp=2 --pp=2 --dp=2 --sp --micro-batches=2 --micro-batch-samples=2 --dtype=" + std::string(dtype));
    Outcome first = train(plan, 3), second = train(plan, 3);
    EXPECT_EQ(first.losses, second.losses) << dtype;
    EXPECT_EQ(first.norms, second.norms) << dtype;
    EXPECT_EQ(first.variables, second.variables) << dtype;
  }
}

TEST(RepeatabilityTest, ThreadsOfARankDoNotChangeTheBits) {
  plan::Plan plan = compile("--micro-batch-samples=4 --dtype=f64");
  EXPECT_EQ(train(plan, 2, 1).variables, train(plan, 2, 2).variables);
}

// 64 threads on however few cores: ranks that wait must not spin.
TEST(RepeatabilityTest, SixtyFourRanksTrain) {
  plan::Plan plan = compile("--tp=4 --pp=4 --dp=4 --sp --micro-batches=4 --micro-batch-samples=1");
  Outcome outcome = train(plan, 2);
  // A fresh model knows nothing: its loss is that of a uniform guess, ln 256, up to the spread of its logits.
  EXPECT_NEAR(outcome.losses[0], std::log(256.0), 0.05);
  EXPECT_LT(outcome.losses[1], outcome.losses[0] + 0.05);
}

// A step of f32, of f16 and of bf16 differs from f64 by rounding only. The loss is a mean over tokens of errors that
// each are some roundings of the logits, whose magnitude is below 1: 2^-24, 2^-12 and 2^-9 relative, a few dozen
// operations deep. The fixed scale of f16 skips no step.
TEST(RepeatabilityTest, LowPrecisionTracksHighPrecision) {
  std::string grid = "--tp=2 --dp=2 --micro-batches=2 --micro-batch-samples=2 --dtype=";
  Outcome f64 = train(compile(grid + "f64"), 5), f32 = train(compile(grid + "f32"), 5),
          f16 = train(compile(grid + "f16 --loss-scale=64"), 5), bf16 = train(compile(grid + "bf16"), 5);
  for (size_t step = 0; step < f64.losses.size(); ++step) {
    EXPECT_NEAR(f32.losses[step], f64.losses[step], 32 * 0x1p-24 * f64.losses[step]) << "step " << step;
    EXPECT_NEAR(f16.losses[step], f64.losses[step], 2 * 0x1p-12 * f64.losses[step]) << "step " << step;
    EXPECT_NEAR(bf16.losses[step], f64.losses[step], 2 * 0x1p-9 * f64.losses[step]) << "step " << step;
  }
}
