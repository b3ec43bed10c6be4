//===- PlannedCall.h - a kernel call as a plan describes it -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes and attributes, without data: what the size of a call follows from (CallSize.h).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_PLANNEDCALL_H
#define TGPT_RUNTIME_SIM_PLANNEDCALL_H

#include "runtime/engine/PlanViews.h"
#include "runtime/kernels/api/Kernel.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace tgpt::runtime::sim {

class PlannedCall {
public:
  PlannedCall(const plan::StageProgram &stage, const plan::Instruction &kernel)
      : inputs(viewsOf(stage, kernel.inputs())), outputs(viewsOf(stage, kernel.outputs())),
        attributes(attributesOf(kernel, [](const plan::AxisOffset &) { return 0; })) {}

  /// Valid as long as this is.
  KernelCall call() const { return {inputs, outputs, &attributes}; }

private:
  template <typename Buffers>
  static std::vector<TensorView> viewsOf(const plan::StageProgram &stage, const Buffers &of) {
    std::vector<TensorView> views;
    for (uint32_t buffer : of)
      views.push_back(viewOf(stage.buffers(static_cast<int>(buffer)), nullptr));
    return views;
  }

  std::vector<TensorView> inputs, outputs;
  Attributes attributes;
};

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_PLANNEDCALL_H
