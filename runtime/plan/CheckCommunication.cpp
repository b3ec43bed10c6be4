//===- CheckCommunication.cpp - collectives and messages --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Group, channel, stream and event of an instruction are there, its output has the shape
// that its kind makes of the input, and all stages add in one order.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/InstructionCheck.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

bool InstructionCheck::reduction() {
  const std::string &opcode = instruction.opcode();
  if (opcode == "sum" || opcode == "tree_sum" ||
      (opcode == "max" && instruction.kind() == plan::Instruction::ALL_REDUCE) ||
      (opcode.empty() && instruction.kind() == plan::Instruction::REDUCE_SCATTER))
    return true;
  return fail("reduces by '" + opcode + "', possible are 'sum', 'tree_sum' and, for all_reduce, 'max'");
}

bool InstructionCheck::collective() {
  if (instruction.group() >= static_cast<uint32_t>(plan.groups_size()))
    return fail("group is " + std::to_string(instruction.group()) + ", but the plan has " +
                std::to_string(plan.groups_size()) + " groups");
  const plan::Group &group = plan.groups(instruction.group());
  if (group.stages_size() > 0 &&
      std::find(group.stages().begin(), group.stages().end(), stage.stage()) == group.stages().end())
    return fail("stage " + std::to_string(stage.stage()) + " is not a member of group " +
                std::to_string(instruction.group()));
  if (input(0).dtype() != output(0).dtype())
    return fail("turns " + dtypeText(input(0).dtype()) + " into " + dtypeText(output(0).dtype()));
  return collectiveShape(groupSize(grid, group));
}

/// The output shape that the input shape, dimensions and group size ask for.
bool InstructionCheck::collectiveShape(int64_t size) {
  Shape expected = shapeOf(input(0));
  auto dimension = [&](const char *what, int64_t dim) {
    return (dim >= 0 && dim < static_cast<int64_t>(expected.size())) ||
           fail(std::string(what) + " is " + std::to_string(dim) + ", but the input has " +
                std::to_string(expected.size()) + " dimensions");
  };
  auto cut = [&](int64_t dim) {
    if (expected[dim] % size != 0)
      return fail("input dimension " + std::to_string(dim) + " is " + std::to_string(expected[dim]) +
                  ", which the group of " + std::to_string(size) + " ranks does not divide");
    expected[dim] /= size;
    return true;
  };
  auto join = [&](int64_t dim) {
    return !__builtin_mul_overflow(expected[dim], size, &expected[dim]) || fail("output shape overflows");
  };
  bool possible = true;
  if (instruction.kind() == plan::Instruction::ALL_GATHER)
    possible = dimension("dim", instruction.dim()) && join(instruction.dim());
  if (instruction.kind() == plan::Instruction::REDUCE_SCATTER)
    possible = dimension("dim", instruction.dim()) && cut(instruction.dim());
  if (instruction.kind() == plan::Instruction::ALL_TO_ALL)
    possible = dimension("dim", instruction.dim()) && dimension("dim2", instruction.dim2()) && cut(instruction.dim()) &&
               join(instruction.dim2());
  if (!possible || shapeOf(output(0)) == expected)
    return possible;
  return fail("output is " + tensorText(output(0)) + ", expected " + tensorText(output(0).dtype(), expected) +
              " from input " + tensorText(input(0)) + " over " + std::to_string(size) + " ranks");
}

bool InstructionCheck::message() {
  bool sends = instruction.kind() == plan::Instruction::SEND;
  std::string name = "channel " + std::to_string(instruction.channel());
  if (instruction.channel() >= static_cast<uint32_t>(plan.channels_size()))
    return fail(name + " does not exist, the plan has " + std::to_string(plan.channels_size()) + " channels");
  const plan::Channel &channel = plan.channels(instruction.channel());
  int64_t here = sends ? channel.from_stage() : channel.to_stage();
  int64_t peer = sends ? channel.to_stage() : channel.from_stage();
  if (here != stage.stage() || peer != instruction.peer_stage())
    return fail(name + " goes from stage " + std::to_string(channel.from_stage()) + " to stage " +
                std::to_string(channel.to_stage()) + ", but stage " + std::to_string(stage.stage()) +
                (sends ? " sends to stage " : " receives from stage ") + std::to_string(instruction.peer_stage()));
  const plan::Buffer &buffer = sends ? input(0) : output(0);
  Shape carried(channel.shape().begin(), channel.shape().end());
  if (buffer.dtype() != channel.dtype() || shapeOf(buffer) != carried)
    return fail("buffer is " + tensorText(buffer) + ", but " + name + " carries " +
                tensorText(channel.dtype(), carried));
  return true;
}

/// Whose buffers they are is CheckFlights' concern.
bool InstructionCheck::wait() {
  if (instruction.event() == 0)
    return fail("waits for no event");
  return (instruction.inputs_size() >= 1 && instruction.inputs_size() <= 2 && instruction.outputs_size() == 0) ||
         fail("has " + std::to_string(instruction.inputs_size()) + " inputs and " +
              std::to_string(instruction.outputs_size()) + " outputs, expected 1 or 2 and 0");
}

/// Collectives within a stage may have an event, and then a stream of their own.
bool InstructionCheck::stream() {
  int number = instruction.stream();
  if (number < plan::Instruction::COMPUTE || number > plan::Instruction::DATA)
    return fail("has the unknown stream " + std::to_string(number));
  bool isCollective =
      instruction.kind() >= plan::Instruction::ALL_REDUCE && instruction.kind() <= plan::Instruction::ALL_TO_ALL;
  bool isStarted = number != plan::Instruction::COMPUTE;
  if (!isCollective)
    return isStarted ? fail("is no collective, but on stream " + plan::Instruction::Stream_Name(number))
                     : instruction.kind() == plan::Instruction::WAIT || instruction.event() == 0 ||
                           fail("is no collective, but has event " + std::to_string(instruction.event()));
  if (isStarted != (instruction.event() != 0))
    return fail("is on stream " + plan::Instruction::Stream_Name(number) + " with event " +
                std::to_string(instruction.event()) + ", expected both a communication stream and an event, or none");
  const auto &axes = plan.groups(instruction.group()).axes();
  return !isStarted || std::find(axes.begin(), axes.end(), "pp") == axes.end() ||
         fail("is started, but group " + std::to_string(instruction.group()) + " spans pipeline stages");
}

/// The order of additions is the plan's, not an instruction's: a sum in another order among sums in a tree would
/// change bits from grid to grid.
void tgpt::runtime::checkOrderOfSums(const plan::Plan &plan, PlanProblems &problems) {
  std::string other, tree;
  for (const plan::StageProgram &stage : plan.stages())
    for (int s = 0; s < stage.segments_size(); ++s)
      for (int i = 0; i < stage.segments(s).instructions_size(); ++i) {
        const plan::Instruction &instruction = stage.segments(s).instructions(i);
        bool isReduction = instruction.kind() == plan::Instruction::ALL_REDUCE ||
                           instruction.kind() == plan::Instruction::REDUCE_SCATTER;
        if (!isReduction || instruction.opcode() == "max")
          continue;
        std::string &place = instruction.opcode() == "tree_sum" ? tree : other;
        if (place.empty())
          place = instructionPlace(plan, stage, s, i);
      }
  if (!tree.empty() && !other.empty())
    problems.add(other + ": reduces by 'sum', but " + tree + " by 'tree_sum'");
}
