//===- CheckInstructions.cpp - operands of every instruction ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After these checks every instruction's buffers, group, channel and axes exist
// and its shapes fit its kind; kernels are judged by the KernelCheck.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/InstructionCheck.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

bool InstructionCheck::indices() {
  auto all = [&](const auto &operands, const char *what) {
    for (int i = 0; i < operands.size(); ++i)
      if (operands.Get(i) >= static_cast<uint32_t>(stage.buffers_size()))
        return fail(std::string(what) + " " + std::to_string(i) + " is buffer " + std::to_string(operands.Get(i)) +
                    ", but the stage has " + std::to_string(stage.buffers_size()) + " buffers");
    return true;
  };
  if (instruction.location() > 0 && instruction.location() >= static_cast<uint32_t>(plan.locations_size()))
    return fail("location is " + std::to_string(instruction.location()) + ", but the plan has " +
                std::to_string(plan.locations_size()) + " locations");
  if (instruction.has_workspace() && instruction.workspace() >= static_cast<uint32_t>(stage.buffers_size()))
    return fail("workspace is buffer " + std::to_string(instruction.workspace()) + ", but the stage has " +
                std::to_string(stage.buffers_size()) + " buffers");
  return all(instruction.inputs(), "input") && all(instruction.outputs(), "output") && cost();
}

/// Reports and simulations add costs up.
bool InstructionCheck::cost() {
  const plan::Cost &given = instruction.cost();
  for (auto [name, figure] : {std::pair("flops", given.flops()), std::pair("bytes_read", given.bytes_read()),
                              std::pair("bytes_written", given.bytes_written())})
    if (figure < 0)
      return fail(std::string("has a cost with ") + name + " " + std::to_string(figure) + ", it must be 0 or more");
  return true;
}

/// The slot of a segment is one of its chunk's activations, its page one of its chunk's pages; STEP lies over these
/// and scratch, so that a segment uses either the one or the others.
bool InstructionCheck::slots() {
  bool isOnce = segment.kind() == plan::Segment::BEGIN || segment.kind() == plan::Segment::UPDATE;
  bool hasStep = std::any_of(stage.regions().begin(), stage.regions().end(),
                             [](const plan::Region &region) { return region.kind() == plan::Region::STEP; });
  for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
    for (uint32_t index : *operands) {
      const plan::Buffer &buffer = stage.buffers(static_cast<int>(index));
      const plan::Region &region = stage.regions(static_cast<int>(buffer.region()));
      std::string use = "uses buffer " + std::to_string(index) + " '" + buffer.name() + "', which lies in the ";
      if (isOfMicroBatch(region.kind()) && region.chunk() != segment.chunk())
        return fail("of chunk " + std::to_string(segment.chunk()) + " " + use + plan::Region::Kind_Name(region.kind()) +
                    " of chunk " + std::to_string(region.chunk()));
      if (isPaged(region.kind()) && isOnce)
        return fail(use + plan::Region::Kind_Name(region.kind()) +
                    ", but no micro-batch has one in a segment that runs once a step");
      if (region.kind() == plan::Region::STEP && !isOnce)
        return fail(use + "STEP region, which BEGIN and UPDATE alone may use");
      if (isOnce && hasStep && region.kind() != plan::Region::STEP && isEmptyBetweenSteps(region.kind()))
        return fail(use + plan::Region::Kind_Name(region.kind()) + ", over which the STEP region lies");
    }
  return true;
}

/// A workspace is a kernel's alone while that runs: it lies in WORKSPACE, which regions do not overlap and nothing else
/// uses, and kernels run on one stream, COMPUTE, one after the other (stream()).
bool InstructionCheck::workspace() {
  auto kindOf = [&](uint32_t index) { return stage.regions(static_cast<int>(stage.buffers(index).region())).kind(); };
  for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
    for (uint32_t index : *operands)
      if (kindOf(index) == plan::Region::WORKSPACE)
        return fail("uses buffer " + std::to_string(index) + " '" + stage.buffers(static_cast<int>(index)).name() +
                    "', which lies in the WORKSPACE of kernels");
  if (!instruction.has_workspace())
    return true;
  if (instruction.kind() != plan::Instruction::KERNEL)
    return fail("is no kernel, but has a workspace");
  const plan::Buffer &buffer = stage.buffers(static_cast<int>(instruction.workspace()));
  std::string what = "has the workspace " + std::to_string(instruction.workspace()) + " '" + buffer.name() + "'";
  if (kindOf(instruction.workspace()) != plan::Region::WORKSPACE)
    return fail(what + ", which lies in " + regionText(stage, static_cast<int>(buffer.region())));
  int64_t at = stage.regions(static_cast<int>(buffer.region())).offset_bytes() + buffer.offset_bytes();
  return at % workspaceGrainBytes == 0 ||
         fail(what + " at byte " + std::to_string(at) + " of the arena, expected a multiple of " +
              std::to_string(workspaceGrainBytes));
}

bool InstructionCheck::attributes() {
  std::vector<std::string> names;
  for (const plan::Attribute &attribute : instruction.attributes()) {
    if (attribute.value_case() == plan::Attribute::VALUE_NOT_SET)
      return fail("attribute '" + attribute.name() + "' has no value");
    names.push_back(attribute.name());
  }
  for (const plan::AxisOffset &offset : instruction.axis_offsets()) {
    int64_t parts = 1, largest;
    for (const std::string &axis : offset.axes()) {
      if (!isMeshAxisName(axis))
        return fail("axis offset '" + offset.name() + "' names the unknown axis '" + axis + "'");
      if (__builtin_mul_overflow(parts, grid.axisSize(axis), &parts))
        return fail("axis offset '" + offset.name() + "' overflows");
    }
    if (__builtin_mul_overflow(parts, offset.stride(), &largest))
      return fail("axis offset '" + offset.name() + "' overflows with stride " + std::to_string(offset.stride()));
    names.push_back(offset.name());
  }
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() || fail("attribute '" + *twice + "' is given twice");
}

bool InstructionCheck::operands(int inputs, int outputs) {
  if (instruction.inputs_size() == inputs && instruction.outputs_size() == outputs)
    return true;
  return fail("has " + std::to_string(instruction.inputs_size()) + " inputs and " +
              std::to_string(instruction.outputs_size()) + " outputs, expected " + std::to_string(inputs) + " and " +
              std::to_string(outputs));
}

bool InstructionCheck::kernel() {
  if (instruction.opcode().empty())
    return fail("names no kernel");
  return instruction.outputs_size() > 0 || fail("has no outputs");
}

bool InstructionCheck::byKind() {
  auto named = [&] { return !instruction.opcode().empty() || fail("names no host value"); };
  switch (instruction.kind()) {
  case plan::Instruction::KERNEL: return kernel();
  case plan::Instruction::ALL_REDUCE: return operands(1, 1) && reduction() && collective();
  case plan::Instruction::ALL_GATHER: return operands(1, 1) && collective();
  case plan::Instruction::REDUCE_SCATTER: return operands(1, 1) && reduction() && collective();
  case plan::Instruction::ALL_TO_ALL: return operands(1, 1) && collective();
  case plan::Instruction::SEND: return operands(1, 0) && message();
  case plan::Instruction::RECV: return operands(0, 1) && message();
  case plan::Instruction::INPUT: return operands(0, 1) && named();
  case plan::Instruction::OUTPUT:
    return operands(1, 0) && named() &&
           (input(0).shape_size() == 0 || fail("input 0 is " + tensorText(input(0)) + ", expected a scalar"));
  case plan::Instruction::WAIT: return wait();
  default: return fail("has an unknown kind");
  }
}

/// Operands that share bytes are the very same range (in place), and outputs share none.
bool InstructionCheck::overlaps() {
  bool inPlace = instruction.kind() == plan::Instruction::KERNEL || instruction.kind() == plan::Instruction::ALL_REDUCE;
  for (int o = 0; o < instruction.outputs_size(); ++o) {
    Extent written = extentOf(output(o));
    for (int i = 0; i < instruction.inputs_size(); ++i) {
      Extent read = extentOf(input(i));
      if (written.overlaps(read) && !(inPlace && written == read))
        return fail("output " + std::to_string(o) + " '" + output(o).name() + "' overlaps input " + std::to_string(i) +
                    " '" + input(i).name() + "'" + (inPlace ? " in part" : ""));
    }
    for (int other = 0; other < o; ++other)
      if (written.overlaps(extentOf(output(other))))
        return fail("outputs " + std::to_string(other) + " and " + std::to_string(o) + " overlap");
  }
  return true;
}

void tgpt::runtime::checkInstructions(const plan::Plan &plan, const RankGrid &grid, const KernelCheck &kernelCheck,
                                      PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    for (int s = 0; s < stage.segments_size(); ++s)
      for (int i = 0; i < stage.segments(s).instructions_size() && !problems.full(); ++i) {
        std::string problem =
            InstructionCheck(plan, grid, stage, stage.segments(s), stage.segments(s).instructions(i)).run(kernelCheck);
        if (!problem.empty())
          problems.add(instructionPlace(plan, stage, s, i) + ": " + problem);
      }
  checkOrderOfSums(plan, problems);
}
