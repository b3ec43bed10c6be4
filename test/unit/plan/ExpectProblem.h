//===- ExpectProblem.h - one damage, one diagnostic -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_EXPECTPROBLEM_H
#define TGPT_TEST_UNIT_PLAN_EXPECTPROBLEM_H

#include "runtime/plan/CheckPlan.h"
#include "test/unit/plan/TinyPipeline.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tgpt::test {

/// The tiny pipeline is valid; after `damage` its first problem contains `text`.
inline void expectProblem(const std::string &text, const std::function<void(plan::Plan &)> &damage) {
  plan::Plan plan = tinyPipeline();
  damage(plan);
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty()) << "not refused, expected: " << text;
  EXPECT_NE(problems.front().find(text), std::string::npos) << "expected: " << text << "\nfound: " << problems.front();
}

/// Instruction `index` of a stage's segment.
inline plan::Instruction &at(plan::Plan &plan, int stage, int segment, int index) {
  return *plan.mutable_stages(stage)->mutable_segments(segment)->mutable_instructions(index);
}

/// Buffer of a stage by name.
inline plan::Buffer &bufferNamed(plan::Plan &plan, int stage, const std::string &name) {
  for (plan::Buffer &buffer : *plan.mutable_stages(stage)->mutable_buffers())
    if (buffer.name() == name)
      return buffer;
  throw std::out_of_range(name);
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_EXPECTPROBLEM_H
