//===- FuzzPlanTest.cpp - damaged plans never crash the checker -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random byte damage of the payload (the checksum made right again) and random
// damage of single fields. Either an Error is thrown, or the plan is found valid:
// then everything the engine will do with it is in bounds (engine/JobFuzzTest.cpp).
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/FuzzPlan.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "test/unit/plan/TinyPipeline.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;

TEST(FuzzPlan, DamagedBytes) {
  std::string payload = test::tinyPipeline().SerializeAsString();
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    plan::Plan plan;
    try {
      plan = decodePlan(test::withDamagedBytes(payload, random), "fuzz");
      checkPlan(plan);
    } catch (const Error &) {
      ++refused;
    }
  }
  // Some damage is harmless (names, costs), but most is not.
  EXPECT_GT(refused, 1500);
}

TEST(FuzzPlan, DamagedFields) {
  plan::Plan valid = test::tinyPipeline();
  std::mt19937_64 random(2);
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    plan::Plan plan = valid;
    for (uint64_t damages = 1 + random() % 3; damages > 0; --damages)
      test::damageRandomField(plan, random);
    refused += !findPlanProblems(plan).empty();
  }
  EXPECT_GT(refused, 3000);
}
