//===- SmallPlan.h - a plan whose bytes can be added up by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMPILER_SMALLPLAN_H
#define TGPT_TEST_UNIT_COMPILER_SMALLPLAN_H

#include "runtime/plan/plan.pb.h"

namespace tgpt::test {

/// A bf16 parameter of 1000 elements with its states; two micro-batches in flight, of which
/// each keeps 1500 bytes that a linear makes for the backward of a gelu, and 600 bytes of
/// scratch in the backward.
plan::Plan smallPlan();

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMPILER_SMALLPLAN_H
