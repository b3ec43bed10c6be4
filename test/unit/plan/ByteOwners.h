//===- ByteOwners.h - whose bytes a plan reads --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the plan checker proves of slots, pages and leaves, seen by going through the schedule
// with a note on each byte of the arena who wrote it last: slow, and it knows nothing of
// regions, places or holdings but where a buffer lies.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_BYTEOWNERS_H
#define TGPT_TEST_UNIT_PLAN_BYTEOWNERS_H

#include "runtime/plan/plan.pb.h"

#include <string>

namespace tgpt::test {

/// The first operand of a plan that is read where another micro-batch, another chunk or another entry of the schedule
/// wrote last, or nobody; empty: there is none. Operands and sizes must be in range.
std::string strangeRead(const plan::Plan &plan);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_BYTEOWNERS_H
