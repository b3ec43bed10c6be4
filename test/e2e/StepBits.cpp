//===- test/e2e/StepBits.cpp - all that a step leaves, to the bit --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/StepBits.h"
#include "test/e2e/TokenPattern.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

/// What waits for other micro-batches is not there on every grid.
static bool isCarry(const std::string &name) {
  return name.find(".carry.") != std::string::npos;
}

/// All digits of a number.
static std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

std::vector<StepBits> tgpt::test::train(const plan::Plan &plan, int64_t steps) {
  Job job(plan);
  job.initializeVariables();
  TokenPattern inputs(plan, 3e-3);
  std::vector<StepBits> outcomes;
  for (inputs.step = 1; inputs.step <= steps; ++inputs.step) {
    const StepMetrics &metrics = job.runStep(inputs);
    StepBits &outcome = outcomes.emplace_back();
    outcome.loss = metrics.loss, outcome.gradNorm = metrics.gradNorm, outcome.tokenCount = metrics.tokenCount;
    for (const std::string &name : job.variableNames())
      if (!isCarry(name))
        outcome.variables[name] = job.readVariable(name).bytes;
    job.verifyCopiesEqual();
  }
  return outcomes;
}

void tgpt::test::expectSameBits(const std::vector<StepBits> &got, const std::vector<StepBits> &expected) {
  ASSERT_LE(got.size(), expected.size());
  for (size_t step = 0; step < got.size(); ++step) {
    EXPECT_EQ(exact(got[step].loss), exact(expected[step].loss)) << "after step " << step + 1;
    EXPECT_EQ(exact(got[step].gradNorm), exact(expected[step].gradNorm)) << "after step " << step + 1;
    EXPECT_EQ(exact(got[step].tokenCount), exact(expected[step].tokenCount)) << "after step " << step + 1;
    for (const auto &[name, bytes] : expected[step].variables) {
      auto found = got[step].variables.find(name);
      ASSERT_TRUE(found != got[step].variables.end()) << name;
      EXPECT_TRUE(found->second == bytes) << name << " after step " << step + 1;
    }
  }
}
