//===- LogicalVariable.h - what users call a variable -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable of the plan is a logical tensor, or a window on one: a part of it, or
// more than it by padding.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_LOGICALVARIABLE_H
#define TGPT_RUNTIME_PLAN_LOGICALVARIABLE_H

#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <string>

namespace tgpt::runtime {

inline const std::string &logicalName(const plan::Variable &variable) {
  return variable.has_window() ? variable.window().name() : variable.name();
}

/// The logical tensor as a variable of its own: its name, parameter and whole shape.
inline plan::Variable logicalVariable(const plan::Variable &variable) {
  plan::Variable whole = variable;
  if (variable.has_window()) {
    whole.set_name(variable.window().name());
    whole.set_parameter(variable.window().parameter());
    *whole.mutable_global_shape() = variable.window().shape();
  }
  whole.clear_window();
  whole.clear_flat();
  return whole;
}

/// Where element 0 of the variable lies in the logical tensor along a dimension.
inline int64_t windowStart(const plan::Variable &variable, int dim) {
  return variable.has_window() ? variable.window().at(dim) : 0;
}

inline int64_t logicalSize(const plan::Variable &variable, int dim) {
  return variable.has_window() ? variable.window().shape(dim) : variable.global_shape(dim);
}

/// Where the elements that are no padding end there.
inline int64_t windowEnd(const plan::Variable &variable, int dim) {
  int64_t start = windowStart(variable, dim);
  return start + std::min(variable.global_shape(dim), logicalSize(variable, dim) - start);
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_LOGICALVARIABLE_H
