//===- InstructionEvent.h - an instruction of a step, with its times ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one form in which the cpu backend records what it measured and the simulation what
// it predicts, so that the two can be laid side by side, instruction by instruction.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_TRACE_INSTRUCTIONEVENT_H
#define TGPT_RUNTIME_TRACE_INSTRUCTIONEVENT_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>

namespace tgpt::runtime {

/// Once through one instruction: waiting for others is part of it.
struct InstructionEvent {
  int64_t rank = 0;
  int64_t step = 0;
  int stage = 0;
  int entry = 0;       ///< of the stage's schedule
  int instruction = 0; ///< of that entry's segment
  /// Where it ran. A started collective without a communication thread runs on COMPUTE.
  plan::Instruction::Stream stream = plan::Instruction::COMPUTE;
  double beginSeconds = 0, endSeconds = 0; ///< since a moment that all events share

  const plan::ScheduleEntry &entryIn(const plan::Plan &plan) const { return plan.stages(stage).schedule(entry); }
  const plan::Segment &segmentIn(const plan::Plan &plan) const {
    return plan.stages(stage).segments(static_cast<int>(entryIn(plan).segment()));
  }
  const plan::Instruction &instructionIn(const plan::Plan &plan) const {
    return segmentIn(plan).instructions(instruction);
  }
};

/// What profiles and traces call an instruction: a kernel by its opcode, all else by its kind ("all_reduce", "send").
std::string eventName(const plan::Instruction &instruction);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRACE_INSTRUCTIONEVENT_H
