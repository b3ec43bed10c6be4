//===- PlanEnums.h - enums of the plan dialect in plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_EMIT_PLANENUMS_H
#define TGPT_COMPILER_EMIT_PLANENUMS_H

#include "dialects/plan/Plan.h"
#include "runtime/plan/plan.pb.h"

namespace tgpt {

/// The plan's code of an element type that buffers may have.
plan::DType dtypeOf(mlir::Type elementType);
plan::Region::Kind kindOf(planir::MemoryKind kind);
plan::Variable::Role roleOf(planir::VariableRole role);
plan::Segment::Kind kindOf(planir::SegmentKind kind);
plan::Instruction::Stream streamOf(planir::Stream stream);
plan::Cost::Work workOf(planir::Work work);
plan::ScheduleEntry::Phase phaseOf(planir::SchedulePhase phase);

} // namespace tgpt

#endif // TGPT_COMPILER_EMIT_PLANENUMS_H
