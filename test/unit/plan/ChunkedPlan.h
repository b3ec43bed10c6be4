//===- ChunkedPlan.h - two chunks on one rank -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One stage with two model chunks whose backwards leave work for later; between the
// chunks the rank sends messages to itself:
//
//   forward            x = input[micro-batch];  z = x + w;  send z
//   forward.1          receive z
//   backward.1         d = z + z;  send d
//   weight_gradient.1  g += z + d
//   backward           receive d as e
//   weight_gradient    g += x + e
//   update             loss = sum of squares of g
//
// Three micro-batches in three slots of chunk 0 and two of chunk 1, in an order in which
// every kind of segment is at some time ahead of another's.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_CHUNKEDPLAN_H
#define TGPT_TEST_UNIT_PLAN_CHUNKEDPLAN_H

#include "test/unit/plan/TinyPipeline.h"

namespace tgpt::test {

/// Segments by their index in the plan.
enum ChunkedSegment : uint32_t {
  Begin,
  Forward,
  Forward1,
  Backward1,
  WeightGradient1,
  Backward,
  WeightGradient,
  Update
};

plan::Plan chunkedPlan();

/// The same, but what is kept lies in five pages that the chunks share, and what the update needs over them.
plan::Plan pagedPlan();

/// The same, but `d` and `e` lie in leaves, and `y` in one that a forward has alone, and pages and leaves have places
/// of one lot: what the forward has alone is page 5 at other times.
plan::Plan placedPlan();

/// What it computes, fed with tinyInput: element `i` of g after a step, 6 x + 5 w summed.
inline double chunkedGradient(int64_t i) {
  double sum = 0;
  for (int64_t m = 0; m < 3; ++m)
    sum += 6 * tinyInput(0, m, i) + 5 * 0.5;
  return sum;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_CHUNKEDPLAN_H
