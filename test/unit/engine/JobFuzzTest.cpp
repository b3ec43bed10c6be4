//===- JobFuzzTest.cpp - damaged plans that pass the check run safely -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random damage of fields: either the plan is refused, or a step of it runs to
// its end or fails with an Error. Under AddressSanitizer this also shows that
// the checker lets no out-of-range access through.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/FuzzPlan.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static void damageAndRun(const plan::Plan &valid) {
  std::mt19937_64 random(11);
  int ran = 0, refused = 0;
  for (int i = 0; i < 1500; ++i) {
    plan::Plan plan = valid;
    for (uint64_t damages = 1 + random() % 2; damages > 0; --damages)
      damageRandomField(plan, random);
    try {
      Job job(plan, referenceOptions());
      job.initializeVariables();
      TinyInputs inputs;
      job.runStep(inputs);
      ++ran;
    } catch (const Error &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(ran, 100);
}

TEST(JobFuzz, DamagedPlansAreRefusedOrRun) {
  damageAndRun(tinyPipeline(2, 2, 3));
}

// What disturbs a collective in flight would show under a sanitizer, or never end.
TEST(JobFuzz, DamagedPlansWithFlightsAreRefusedOrRun) {
  damageAndRun(withStartedCollectives(tinyPipeline(2, 2, 3)));
}
