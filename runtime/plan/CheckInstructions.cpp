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
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

using Shape = std::vector<int64_t>;

/// The checks of one instruction; the first problem found is the one reported.
class InstructionCheck {
public:
  InstructionCheck(const plan::Plan &plan, const RankGrid &grid, const plan::StageProgram &stage,
                   const plan::Segment &segment, const plan::Instruction &instruction)
      : plan(plan), grid(grid), stage(stage), segment(segment), instruction(instruction) {}

  /// What is wrong with the instruction, or an empty string.
  std::string run(const KernelCheck &kernelCheck) {
    if (indices() && slots() && workspace() && attributes() && byKind() && stream() && overlaps() &&
        instruction.kind() == plan::Instruction::KERNEL && kernelCheck)
      problem = kernelCheck(stage, instruction);
    return problem;
  }

private:
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  const plan::Buffer &input(int i) const { return stage.buffers(instruction.inputs(i)); }
  const plan::Buffer &output(int i) const { return stage.buffers(instruction.outputs(i)); }
  Shape shapeOf(const plan::Buffer &buffer) const { return {buffer.shape().begin(), buffer.shape().end()}; }

  bool indices();
  bool cost();
  bool slots();
  bool workspace();
  bool attributes();
  bool byKind();
  bool operands(int inputs, int outputs);
  bool kernel();
  bool collective();
  bool reduction();
  bool collectiveShape(int64_t size);
  bool message();
  bool wait();
  bool stream();
  bool overlaps();

  const plan::Plan &plan;
  const RankGrid &grid;
  const plan::StageProgram &stage;
  const plan::Segment &segment; // the instruction's
  const plan::Instruction &instruction;
  std::string problem;
};

} // namespace

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

/// The order of additions is the plan's, not an instruction's: a sum in another order among sums in a tree would
/// change bits from grid to grid.
static void checkOrderOfSums(const plan::Plan &plan, PlanProblems &problems) {
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
