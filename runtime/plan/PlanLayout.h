//===- PlanLayout.h - how a value is spread over ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PLANLAYOUT_H
#define TGPT_RUNTIME_PLAN_PLANLAYOUT_H

#include "runtime/plan/plan.pb.h"

#include <string>

namespace tgpt::runtime {

/// "[dp, -, -] partial sum over tp".
std::string layoutText(const plan::Layout &layout);
bool samePartial(const plan::Layout &a, const plan::Layout &b);
bool sameLayout(const plan::Layout &a, const plan::Layout &b);

/// What a collective makes of its input's layout, or why it cannot take it.
struct CollectiveLayout {
  plan::Layout result;
  std::string problem; ///< empty where there is none
};
/// `group` are the axes of the collective's group.
CollectiveLayout layoutAfter(const plan::Instruction &collective,
                             const google::protobuf::RepeatedPtrField<std::string> &group, const plan::Layout &input);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PLANLAYOUT_H
