//===- CheckLayouts.cpp - does everyone take a value for what it is? ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's type check, repeated on the plan: every instruction says which values
// it reads and writes and how they are spread over the ranks, and
//
//   - a numbered value is read from the bytes it was written to, and nothing has been
//     written there since; it may be made in parts and taken in others (buckets);
//   - a numbered value is made once and, if it is not in a variable, read: what the next
//     step needs has not been left on the way there;
//   - what is read was last written as the reader takes it: a partial sum that no
//     collective has closed is not read as whole, nor a whole value reduced again. Where
//     a buffer is only a part of the other (a member of a bucket), the partial axes must
//     agree;
//   - the layout that a collective gives follows from the one it takes and its group;
//   - a variable holds at the end of a step what it says and what the next step takes
//     it for; one micro-batch leaves it to the next as it found it;
//   - both ends of a channel, and the stages that meet in a collective, agree.
//
// What a kernel makes of its inputs is the compiler's knowledge and is taken from the
// plan. A plan without layouts, written by hand, is not checked.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/LastWrites.h"
#include "runtime/plan/PlanLayout.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

using Axes = google::protobuf::RepeatedPtrField<std::string>;

//===----------------------------------------------------------------------===//
// The table of layouts
//===----------------------------------------------------------------------===//

/// Each axis is one of the mesh and is used once.
static void checkTable(const plan::Plan &plan, PlanProblems &problems) {
  std::set<std::string> meshAxes;
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    meshAxes.insert(axis.name());
  for (int i = 0; i < plan.layouts_size(); ++i) {
    const plan::Layout &layout = plan.layouts(i);
    std::string place = "layout " + std::to_string(i) + " " + layoutText(layout);
    std::set<std::string> seen;
    auto check = [&](const Axes &axes) {
      for (const std::string &axis : axes)
        if (!meshAxes.count(axis))
          problems.add(place + " names '" + axis + "', which is not an axis of the mesh");
        else if (!seen.insert(axis).second)
          problems.add(place + " names axis '" + axis + "' twice");
    };
    for (const plan::DimSharding &dim : layout.dims())
      check(dim.axes());
    check(layout.partial_axes());
    bool isPartial = layout.partial_axes_size() > 0;
    if (isPartial ? layout.reduction() != "sum" && layout.reduction() != "max" : !layout.reduction().empty())
      problems.add(place + " reduces by '" + layout.reduction() + "', possible are 'sum' and 'max'");
  }
}

/// One layout an operand, of its rank, or what is wrong.
static std::string problemOfIndices(const plan::Plan &plan, const plan::StageProgram &stage,
                                    const plan::Instruction &instruction) {
  int operands = instruction.inputs_size() + instruction.outputs_size();
  if (instruction.values_size() != operands)
    return "has " + std::to_string(instruction.values_size()) + " value numbers for " + std::to_string(operands) +
           " operands";
  if (instruction.layouts_size() != operands)
    return "has " + std::to_string(instruction.layouts_size()) + " layouts for " + std::to_string(operands) +
           " operands";
  for (int i = 0; i < operands; ++i) {
    uint32_t layout = instruction.layouts(i);
    if (layout >= static_cast<uint32_t>(plan.layouts_size()))
      return "names layout " + std::to_string(layout) + ", but the plan has " + std::to_string(plan.layouts_size());
    uint32_t buffer =
        i < instruction.inputs_size() ? instruction.inputs(i) : instruction.outputs(i - instruction.inputs_size());
    if (plan.layouts(layout).dims_size() != stage.buffers(buffer).shape_size())
      return "gives '" + stage.buffers(buffer).name() + "', " + tensorText(stage.buffers(buffer)) + ", the layout " +
             layoutText(plan.layouts(layout));
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The flow of values
//===----------------------------------------------------------------------===//

namespace {

/// Follows one stage through a step, twice through its micro-batch, chunk by chunk: what
/// one chunk leaves to another is in variables or in messages.
class StageLayouts {
public:
  StageLayouts(const plan::Plan &plan, const plan::StageProgram &stage, std::vector<int64_t> &channelLayouts,
               PlanProblems &problems)
      : plan(plan), stage(stage), channelLayouts(channelLayouts), problems(problems) {}

  void check() {
    for (const plan::Variable &variable : stage.variables()) {
      variableLayouts.emplace(variable.buffer(), layoutOf(variable));
      state.add({extentOf(stage.buffers(variable.buffer())), variable.buffer(), ofVariable, 0});
    }
    run(plan::Segment::BEGIN);
    for (int pass = 0; pass < 2; ++pass) {
      run(plan::Segment::FORWARD);
      run(plan::Segment::BACKWARD);
      run(plan::Segment::WEIGHT_GRADIENT);
    }
    run(plan::Segment::UPDATE);
    checkAllRead();
    for (const plan::Variable &variable : stage.variables())
      checkEnd(variable);
  }

private:
  /// In place of a layout's index: the one that the variable in the buffer says.
  static constexpr uint32_t ofVariable = ~0u;

  void run(plan::Segment::Kind kind) {
    if (kind == plan::Segment::FORWARD)
      madeInPass.clear();
    for (int s = 0; s < stage.segments_size(); ++s)
      for (int i = 0; stage.segments(s).kind() == kind && i < stage.segments(s).instructions_size(); ++i) {
        if (problems.full())
          return;
        const plan::Instruction &instruction = stage.segments(s).instructions(i);
        std::string problem = problemOf(instruction);
        if (!problem.empty())
          problems.add(instructionPlace(plan, stage, s, i) + " " + problem);
        for (int o = 0; o < instruction.outputs_size(); ++o)
          write(instruction, o, {s, i});
      }
  }

  void write(const plan::Instruction &instruction, int output, std::pair<int, int> place) {
    const plan::Buffer &buffer = stage.buffers(instruction.outputs(output));
    int operand = instruction.inputs_size() + output;
    uint32_t value = instruction.values(operand);
    state.add({extentOf(buffer), instruction.outputs(output), instruction.layouts(operand), value});
    if (value != 0 && !madeInPass.insert({value, instruction.outputs(output)}).second)
      problems.add(instructionPlace(plan, stage, place.first, place.second) + " makes value " + std::to_string(value) +
                   " a second time");
    if (value != 0 && stage.regions(buffer.region()).kind() >= plan::Region::ACTIVATIONS && !spansStages(instruction))
      made.try_emplace(value, place);
  }

  /// What stages make together need not be read at each of them.
  bool spansStages(const plan::Instruction &instruction) const {
    bool isCollective =
        instruction.kind() >= plan::Instruction::ALL_REDUCE && instruction.kind() <= plan::Instruction::ALL_TO_ALL;
    if (!isCollective)
      return false;
    const auto &axes = plan.groups(static_cast<int>(instruction.group())).axes();
    return std::find(axes.begin(), axes.end(), "pp") != axes.end();
  }

  /// Nothing was made in vain: so an instruction that took it is missing.
  void checkAllRead() {
    for (const auto &[value, place] : made)
      if (!taken.count(value) && !problems.full())
        problems.add(instructionPlace(plan, stage, place.first, place.second) + " makes value " +
                     std::to_string(value) + ", which no instruction reads");
  }

  std::string problemOf(const plan::Instruction &instruction) {
    std::string problem;
    for (int i = 0; i < instruction.inputs_size() && problem.empty(); ++i)
      problem = problemOfRead(instruction.inputs(i), instruction.layouts(i), instruction.values(i));
    for (const plan::Attribute &attribute : instruction.attributes())
      for (int o = 0; attribute.name() == "accumulate" && o < std::min(instruction.outputs_size(), 63); ++o)
        if (problem.empty() && (attribute.i() >> o & 1))
          problem = problemOfRead(instruction.outputs(o), instruction.layouts(instruction.inputs_size() + o), 0);
    if (!problem.empty())
      return problem;
    switch (instruction.kind()) {
    case plan::Instruction::ALL_REDUCE:
    case plan::Instruction::ALL_GATHER:
    case plan::Instruction::REDUCE_SCATTER:
    case plan::Instruction::ALL_TO_ALL: return problemOfCollective(instruction);
    case plan::Instruction::SEND:
    case plan::Instruction::RECV: return problemOfMessage(instruction);
    case plan::Instruction::OUTPUT: return problemOfOutput(instruction);
    default: return "";
    }
  }

  std::string problemOfRead(uint32_t buffer, uint32_t layout, uint32_t value) {
    if (value != 0)
      taken.insert(value);
    std::string problem;
    const Extent extent = extentOf(stage.buffers(buffer));
    state.forEachPiece(extent, [&](int64_t, const LastWrites::Write *write) {
      if (!write) // CheckDataflow's concern
        return true;
      bool isPart = extent.contains(write->extent) || write->extent.contains(extent);
      if (value != 0 && (write->value != value || !isPart)) {
        problem = "takes '" + stage.buffers(buffer).name() + "' for value " + std::to_string(value) + ", but value " +
                  std::to_string(write->value) + " was written there last, as '" + stage.buffers(write->buffer).name() +
                  "'";
        return false;
      }
      const plan::Layout &written =
          write->layout == ofVariable ? variableLayouts.at(write->buffer) : plan.layouts(write->layout);
      bool isWhole = write->buffer == buffer;
      if (isWhole ? !sameLayout(written, plan.layouts(layout)) : !samePartial(written, plan.layouts(layout)))
        problem = "takes '" + stage.buffers(buffer).name() + "' for " + layoutText(plan.layouts(layout)) +
                  ", but it is " + layoutText(written);
      return problem.empty();
    });
    return problem;
  }

  std::string problemOfCollective(const plan::Instruction &instruction) const {
    CollectiveLayout expected =
        layoutAfter(instruction, plan.groups(instruction.group()).axes(), plan.layouts(instruction.layouts(0)));
    if (!expected.problem.empty())
      return expected.problem;
    const plan::Layout &given = plan.layouts(instruction.layouts(1));
    return sameLayout(given, expected.result)
               ? ""
               : "gives " + layoutText(given) + ", expected " + layoutText(expected.result);
  }

  /// The first to use a channel says what it carries.
  std::string problemOfMessage(const plan::Instruction &instruction) {
    int64_t &carried = channelLayouts[instruction.channel()];
    if (carried < 0)
      carried = instruction.layouts(0);
    if (sameLayout(plan.layouts(static_cast<int>(carried)), plan.layouts(instruction.layouts(0))))
      return "";
    return "takes channel " + std::to_string(instruction.channel()) + " to carry " +
           layoutText(plan.layouts(instruction.layouts(0))) + ", elsewhere it carries " +
           layoutText(plan.layouts(static_cast<int>(carried)));
  }

  std::string problemOfOutput(const plan::Instruction &instruction) const {
    const plan::Layout &layout = plan.layouts(instruction.layouts(0));
    return layout.partial_axes().empty() ? "" : "reports what is " + layoutText(layout);
  }

  /// What the buffer of a variable holds: its shard, or a piece of a flat tensor of which
  /// the first of two dimensions has an entry a shard.
  plan::Layout layoutOf(const plan::Variable &variable) const {
    plan::Layout layout;
    if (variable.has_flat()) {
      if (stage.buffers(variable.buffer()).shape_size() > 1) {
        plan::DimSharding &shards = *layout.add_dims();
        for (const plan::DimSharding &dim : variable.dims())
          shards.mutable_axes()->MergeFrom(dim.axes());
      }
      *layout.add_dims()->mutable_axes() = variable.flat().axes();
    } else {
      *layout.mutable_dims() = variable.dims();
    }
    *layout.mutable_partial_axes() = variable.partial_axes();
    if (variable.partial_axes_size() > 0)
      layout.set_reduction("sum");
    return layout;
  }

  /// Accumulators start anew with every step; the others are what they say.
  void checkEnd(const plan::Variable &variable) {
    if (variable.role() == plan::Variable::GRADIENT || variable.role() == plan::Variable::METRIC)
      return;
    plan::Layout expected = layoutOf(variable);
    state.forEachPiece(extentOf(stage.buffers(variable.buffer())), [&](int64_t, const LastWrites::Write *write) {
      if (!write || write->layout == ofVariable || samePartial(plan.layouts(write->layout), expected))
        return true;
      problems.add("stage " + std::to_string(stage.stage()) + ", variable '" + variable.name() + "' is said to be " +
                   layoutText(expected) + " but is " + layoutText(plan.layouts(write->layout)) +
                   " at the end of a step");
      return false;
    });
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  std::vector<int64_t> &channelLayouts; // by channel; -1 before its first use
  PlanProblems &problems;
  std::map<uint32_t, plan::Layout> variableLayouts;   // by buffer: what variables hold between steps
  std::map<uint32_t, std::pair<int, int>> made;       // values outside variables, and where
  std::set<std::pair<uint32_t, uint32_t>> madeInPass; // value and buffer, this time through the segments
  std::set<uint32_t> taken;                           // values that are read
  LastWrites state;
};

} // namespace

void tgpt::runtime::checkLayouts(const plan::Plan &plan, PlanProblems &problems) {
  checkTable(plan, problems);
  if (plan.layouts_size() == 0 || problems.any())
    return;
  for (const plan::StageProgram &stage : plan.stages())
    for (int s = 0; s < stage.segments_size(); ++s)
      for (int i = 0; i < stage.segments(s).instructions_size() && !problems.full(); ++i) {
        std::string problem = problemOfIndices(plan, stage, stage.segments(s).instructions(i));
        if (!problem.empty())
          problems.add(instructionPlace(plan, stage, s, i) + " " + problem);
      }
  if (problems.any())
    return;
  std::vector<int64_t> channelLayouts(plan.channels_size(), -1);
  for (const plan::StageProgram &stage : plan.stages())
    StageLayouts(plan, stage, channelLayouts, problems).check();
}
