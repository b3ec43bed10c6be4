//===- ChangedVariables.h - values for variables, from the host and in a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_CHANGEDVARIABLES_H
#define TGPT_TEST_UNIT_ENGINE_CHANGEDVARIABLES_H

#include "runtime/engine/Job.h"
#include "runtime/engine/Scalar.h"
#include "test/unit/plan/PlanBuilder.h"

#include <string>

namespace tgpt::test {

inline plan::Instruction &addTo(PlanBuilder &b, int stage, uint32_t segment, uint32_t x, uint32_t to) {
  plan::Instruction &made = b.kernel(stage, segment, "accumulate", {x}, {to});
  setAttribute(made, "accumulate", int64_t(1));
  return made;
}

/// The variable's elements, counted from `first`.
inline runtime::LogicalTensor counting(const runtime::Job &job, const std::string &name, double first) {
  runtime::LogicalTensor tensor = job.readVariable(name);
  for (int64_t i = 0; i < tensor.view().elements(); ++i)
    runtime::storeElement(tensor.view(), first + static_cast<double>(i), i);
  return tensor;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_CHANGEDVARIABLES_H
