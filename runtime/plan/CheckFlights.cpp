//===- CheckFlights.cpp - does nothing disturb a started collective? ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From its start to the WAIT for its event a collective reads its input and writes its
// output, at any time. So meanwhile no instruction may use bytes of the output, nor
// write bytes of the input. With this, and every event ended in its segment, a plan
// computes the same wherever within that time its collectives really run.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// Follows the events of one segment.
class SegmentFlights {
public:
  SegmentFlights(const plan::Plan &plan, const plan::StageProgram &stage, int segment, PlanProblems &problems)
      : plan(plan), stage(stage), segment(segment), problems(problems) {}

  void check() {
    for (int i = 0; i < stage.segments(segment).instructions_size() && !problems.full(); ++i) {
      std::string problem = problemOf(i);
      if (!problem.empty())
        problems.add(instructionPlace(plan, stage, segment, i) + ": " + problem);
    }
    for (auto [event, start] : inFlight)
      problems.add(instructionPlace(plan, stage, segment, start) + ": event " + std::to_string(event) +
                   " is not waited for in its segment");
  }

private:
  const plan::Instruction &at(int index) const { return stage.segments(segment).instructions(index); }
  Extent extent(uint32_t buffer) const { return extentOf(stage.buffers(buffer)); }

  std::string problemOf(int index) {
    const plan::Instruction &instruction = at(index);
    if (instruction.kind() == plan::Instruction::WAIT)
      return problemOfWait(instruction);
    for (auto [event, start] : inFlight) {
      std::string problem = problemBeside(instruction, at(start));
      if (!problem.empty())
        return problem + " of event " + std::to_string(event) + ", which is in flight since instruction " +
               std::to_string(start);
    }
    if (instruction.event() == 0)
      return "";
    if (!started.insert(instruction.event()).second)
      return "event " + std::to_string(instruction.event()) + " is started a second time";
    inFlight[instruction.event()] = index;
    return "";
  }

  std::string problemOfWait(const plan::Instruction &wait) {
    auto found = inFlight.find(wait.event());
    if (found == inFlight.end())
      return "event " + std::to_string(wait.event()) + " is not in flight";
    const plan::Instruction &start = at(found->second);
    inFlight.erase(found);
    uint32_t input = start.inputs(0), output = start.outputs(0);
    bool isNamed = wait.inputs(0) == output && wait.inputs_size() == (input == output ? 1 : 2) &&
                   wait.inputs(wait.inputs_size() - 1) == input;
    return isNamed ? "" : "its inputs are not the output and the input of the collective that it waits for";
  }

  /// What an instruction does to the bytes of a collective in flight, or an empty string.
  std::string problemBeside(const plan::Instruction &instruction, const plan::Instruction &flight) const {
    Extent read = extent(flight.inputs(0)), written = extent(flight.outputs(0));
    for (uint32_t input : instruction.inputs())
      if (extent(input).overlaps(written))
        return "reads '" + stage.buffers(input).name() + "', which has bytes of the output";
    for (uint32_t output : instruction.outputs()) {
      if (extent(output).overlaps(written))
        return "writes '" + stage.buffers(output).name() + "', which has bytes of the output";
      if (extent(output).overlaps(read))
        return "writes '" + stage.buffers(output).name() + "', which has bytes of the input";
    }
    return "";
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  int segment;
  PlanProblems &problems;
  std::map<uint32_t, int> inFlight; // event -> the instruction that started it
  std::set<uint32_t> started;
};

} // namespace

void tgpt::runtime::checkFlights(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    for (int s = 0; s < stage.segments_size(); ++s)
      SegmentFlights(plan, stage, s, problems).check();
}
