//===- CheckPlan.h - is a plan safe to execute? -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan comes from a file and is not trusted: everything the engine relies on
// is checked here, once per stage (never per rank), before anything is
// allocated. Kernel names and operand shapes are the backend's knowledge and
// come in through KernelCheck, so that the compiler can check plans as well.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_CHECKPLAN_H
#define TGPT_RUNTIME_PLAN_CHECKPLAN_H

#include "runtime/plan/plan.pb.h"

#include <functional>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Judges a KERNEL instruction whose buffers are known to be valid: empty, or
/// what is wrong ("unknown kernel 'liner', the nearest known one is 'linear'").
using KernelCheck = std::function<std::string(const plan::StageProgram &, const plan::Instruction &)>;

/// Everything wrong with a plan, each with its place: "stage 1, segment
/// 'forward', instruction 12 (linear, model.mlir:42:5): input 1 is buffer 99,
/// but the stage has 57 buffers". Later checks rest on earlier ones, so a plan
/// that fails one group of checks is not put to the next. At most 20 are listed. A
/// problem is a line, perhaps with indented lines behind it (the stages of a deadlock).
std::vector<std::string> findPlanProblems(const plan::Plan &plan, const KernelCheck &kernelCheck = {});

/// Throws Error with the first problem (and the number of further ones); its further lines are the details.
void checkPlan(const plan::Plan &plan, const KernelCheck &kernelCheck = {});

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_CHECKPLAN_H
