//===- PlannerText.h - what the planner found ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_PLANNERTEXT_H
#define TGPT_COMPILER_PLANNER_PLANNERTEXT_H

#include "compiler/planner/Planner.h"

namespace tgpt {

/// Tables for people, ending in a newline.
std::string plannerText(const PlannerReport &report);
/// One JSON object, bytes and seconds, ending in a newline.
std::string plannerJson(const PlannerReport &report);

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_PLANNERTEXT_H
