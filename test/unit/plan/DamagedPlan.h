//===- DamagedPlan.h - plans that the checker must refuse --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_DAMAGEDPLAN_H
#define TGPT_TEST_UNIT_PLAN_DAMAGEDPLAN_H

#include "runtime/plan/CheckPlan.h"

#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace tgpt::test {

/// A damage to the first stage is refused, and the first problem found has this text.
inline void expectRefusal(plan::Plan plan, const std::string &text,
                          const std::function<void(plan::StageProgram &)> &damage) {
  damage(*plan.mutable_stages(0));
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty()) << "not refused, expected: " << text;
  EXPECT_NE(problems.front().find(text), std::string::npos) << "expected: " << text << "\nfound: " << problems.front();
}

inline plan::Region &regionOf(plan::StageProgram &stage, plan::Region::Kind kind, int64_t chunk = 0) {
  for (plan::Region &region : *stage.mutable_regions())
    if (region.kind() == kind && region.chunk() == chunk)
      return region;
  throw std::out_of_range("no such region");
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_DAMAGEDPLAN_H
