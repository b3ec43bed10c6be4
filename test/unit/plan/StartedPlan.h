//===- StartedPlan.h - plans whose collectives are started ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_STARTEDPLAN_H
#define TGPT_TEST_UNIT_PLAN_STARTEDPLAN_H

#include "runtime/plan/plan.pb.h"

namespace tgpt::test {

/// The same program, but every collective within a stage is started where it stood and
/// waited for as late as can be: right before the first instruction that touches what it
/// writes or changes what it reads, or at the segment's end.
plan::Plan withStartedCollectives(plan::Plan plan);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_STARTEDPLAN_H
