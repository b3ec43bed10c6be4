//===- PlanText.h - naming parts of a plan in messages ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PLANTEXT_H
#define TGPT_RUNTIME_PLAN_PLANTEXT_H

#include "runtime/plan/plan.pb.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

/// "f64", "f32", "bf16", "f16", "i32"; "dtype 9" for what is none of them.
std::string dtypeText(plan::DType dtype);
/// "[4, 6] f32".
std::string tensorText(plan::DType dtype, std::span<const int64_t> shape);
std::string tensorText(const plan::Buffer &buffer);

/// "region 2 (SCRATCH)".
std::string regionText(const plan::StageProgram &stage, int index);

/// "linear" for a kernel; "all_reduce sum", "send", "input tokens" for the rest.
std::string instructionText(const plan::Instruction &instruction);

/// "linear, model.mlir:42:5 linear": the instruction and the model line it came from.
std::string instructionAndLocation(const plan::Plan &plan, const plan::Instruction &instruction);

/// "stage 1, segment 'forward', instruction 12 (linear, model.mlir:42:5 linear)".
std::string instructionPlace(const plan::Plan &plan, const plan::StageProgram &stage, int segment, int instruction);

/// The candidate with the least edit distance to `word`; empty when there is none.
std::string nearestName(std::string_view word, const std::vector<std::string> &candidates);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PLANTEXT_H
