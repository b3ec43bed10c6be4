//===- StartedPlan.cpp - plans whose collectives are started ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/plan/StartedPlan.h"
#include "runtime/plan/BufferExtent.h"

#include <algorithm>
#include <vector>

using namespace tgpt;
using namespace tgpt::test;
using plan::Instruction;
using runtime::extentOf;

namespace {

/// Rewrites one segment.
class SegmentStarter {
public:
  SegmentStarter(const plan::Plan &plan, const plan::StageProgram &stage) : plan(plan), stage(stage) {}

  void run(plan::Segment &segment) {
    std::vector<Instruction> before(segment.instructions().begin(), segment.instructions().end());
    segment.clear_instructions();
    for (Instruction &instruction : before) {
      endBefore(&instruction, segment);
      if (mayStart(instruction)) {
        instruction.set_event(++events);
        bool isTensor = plan.groups(instruction.group()).axes(0) == "tp";
        instruction.set_stream(isTensor ? Instruction::TENSOR : Instruction::DATA);
        inFlight.push_back(instruction);
      }
      *segment.add_instructions() = instruction;
    }
    endBefore(nullptr, segment);
  }

private:
  bool mayStart(const Instruction &instruction) const {
    if (instruction.kind() < Instruction::ALL_REDUCE || instruction.kind() > Instruction::ALL_TO_ALL)
      return false;
    const auto &axes = plan.groups(instruction.group()).axes();
    return std::find(axes.begin(), axes.end(), "pp") == axes.end();
  }

  bool overlap(uint32_t a, uint32_t b) const { return extentOf(stage.buffers(a)).overlaps(extentOf(stage.buffers(b))); }

  bool disturbs(const Instruction &instruction, const Instruction &flight) const {
    for (uint32_t input : instruction.inputs())
      if (overlap(input, flight.outputs(0)))
        return true;
    for (uint32_t output : instruction.outputs())
      if (overlap(output, flight.outputs(0)) || overlap(output, flight.inputs(0)))
        return true;
    return false;
  }

  /// Waits for what `next` would disturb; for all without one.
  void endBefore(const Instruction *next, plan::Segment &segment) {
    std::erase_if(inFlight, [&](const Instruction &flight) {
      if (next && !disturbs(*next, flight))
        return false;
      Instruction &wait = *segment.add_instructions();
      wait.set_kind(Instruction::WAIT);
      wait.set_event(flight.event());
      wait.set_location(flight.location());
      wait.add_inputs(flight.outputs(0));
      if (flight.inputs(0) != flight.outputs(0))
        wait.add_inputs(flight.inputs(0));
      return true;
    });
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  std::vector<Instruction> inFlight;
  uint32_t events = 0;
};

} // namespace

plan::Plan tgpt::test::withStartedCollectives(plan::Plan plan) {
  const plan::Plan before = plan;
  for (int stage = 0; stage < plan.stages_size(); ++stage)
    for (plan::Segment &segment : *plan.mutable_stages(stage)->mutable_segments())
      SegmentStarter(before, before.stages(stage)).run(segment);
  return plan;
}
