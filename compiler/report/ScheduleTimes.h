//===- ScheduleTimes.h - when the entries of all stages run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For pictures where there is no cluster file, whose simulation would tell: the order and
// the waiting are those of the plan, the lengths those of an imagined device that moves a
// byte in the time of a hundred operations, and whose messages take no time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_SCHEDULETIMES_H
#define TGPT_COMPILER_REPORT_SCHEDULETIMES_H

#include "runtime/plan/plan.pb.h"
#include <vector>

namespace tgpt {

/// Begin and end of an entry, in operations or nanoseconds.
struct EntryTime {
  double begin = 0, end = 0;
};

/// Of every entry of every stage. A stage runs its entries in order and waits for messages.
std::vector<std::vector<EntryTime>> scheduleTimesOf(const plan::Plan &plan);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_SCHEDULETIMES_H
