//===- CheckProgress.cpp - do all stages reach the end of a step? -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the schedules of all stages symbolically: only messages, bounded by
// their channel's depth, and collectives that span stages matter. Ranks of one
// stage run the same program, so one walker per stage stands for all of them.
// The order in which walkers move does not matter: queues are in order and passing
// an instruction never takes away what another walker needs. So a step that ends
// here ends in every real run, and one that is stuck here is stuck in every run.
// Started collectives do not span stages: the ranks of a stage start them in one order,
// and each ends once all of them have come to its start, so a WAIT holds up no more than
// the collective would in its place.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// One stage's position in its step. Only instructions that can wait are visited.
struct Walker {
  const plan::StageProgram *stage;
  std::vector<std::vector<int>> waits; // per segment: the instructions that can wait
  int entry = 0;
  size_t next = 0; // index into waits[segment of entry]

  void settle() {
    while (!done() && next >= waits[segment()].size()) {
      ++entry;
      next = 0;
    }
  }
  bool done() const { return entry >= stage->schedule_size(); }
  int segment() const { return static_cast<int>(stage->schedule(entry).segment()); }
  int index() const { return waits[segment()][next]; }
  const plan::Instruction &instruction() const { return stage->segments(segment()).instructions(index()); }
  void advance() {
    ++next;
    settle();
  }
};

class StepSimulation {
public:
  StepSimulation(const plan::Plan &plan, PlanProblems &problems) : plan(plan), problems(problems) {
    queued.resize(plan.channels_size());
    for (const plan::StageProgram &stage : plan.stages())
      walkers.push_back(walkerOf(stage));
  }

  void run() {
    bool moved = true;
    while (moved && !problems.any()) {
      moved = false;
      for (Walker &walker : walkers)
        while (!walker.done() && !problems.any() && step(walker))
          moved = true;
    }
    if (problems.any())
      return;
    bool finished = std::all_of(walkers.begin(), walkers.end(), [](const Walker &walker) { return walker.done(); });
    if (!finished)
      return reportDeadlock();
    for (size_t i = 0; i < queued.size(); ++i)
      if (queued[i] > 0)
        problems.add("channel " + std::to_string(i) + " from stage " + std::to_string(plan.channels(i).from_stage()) +
                     " to stage " + std::to_string(plan.channels(i).to_stage()) + " holds " +
                     std::to_string(queued[i]) + " messages at the end of the step that nobody receives");
  }

private:
  bool spansStages(const plan::Instruction &instruction) const {
    if (instruction.kind() < plan::Instruction::ALL_REDUCE || instruction.kind() > plan::Instruction::ALL_TO_ALL)
      return false;
    const auto &axes = plan.groups(instruction.group()).axes();
    return std::find(axes.begin(), axes.end(), "pp") != axes.end();
  }

  Walker walkerOf(const plan::StageProgram &stage) const {
    Walker walker;
    walker.stage = &stage;
    for (const plan::Segment &segment : stage.segments()) {
      std::vector<int> &waits = walker.waits.emplace_back();
      for (int i = 0; i < segment.instructions_size(); ++i) {
        const plan::Instruction &instruction = segment.instructions(i);
        if (instruction.kind() == plan::Instruction::SEND || instruction.kind() == plan::Instruction::RECV ||
            spansStages(instruction))
          waits.push_back(i);
      }
    }
    walker.settle();
    return walker;
  }

  std::string place(const Walker &walker) const {
    return instructionPlace(plan, *walker.stage, walker.segment(), walker.index()) + " for micro-batch " +
           std::to_string(walker.stage->schedule(walker.entry).micro_batch());
  }

  bool step(Walker &walker);
  bool stepCollective(Walker &walker);
  bool agree(const Walker &a, const Walker &b);
  void reportDeadlock();

  const plan::Plan &plan;
  PlanProblems &problems;
  std::vector<Walker> walkers;
  std::vector<int64_t> queued; // messages in flight per channel
};

} // namespace

/// Passes one instruction if it can be passed now.
bool StepSimulation::step(Walker &walker) {
  const plan::Instruction &instruction = walker.instruction();
  if (instruction.kind() == plan::Instruction::SEND) {
    if (queued[instruction.channel()] >= plan.channels(instruction.channel()).depth())
      return false;
    ++queued[instruction.channel()];
  } else if (instruction.kind() == plan::Instruction::RECV) {
    if (queued[instruction.channel()] == 0)
      return false;
    --queued[instruction.channel()];
  } else {
    return stepCollective(walker);
  }
  walker.advance();
  return true;
}

/// The variable that lives in the buffer; empty where none does.
static std::string variableIn(const plan::StageProgram &stage, uint32_t buffer) {
  for (const plan::Variable &variable : stage.variables())
    if (variable.buffer() == buffer)
      return variable.name();
  return "";
}

/// Two stages that meet in a group do the same there, to the same variable if each does it to one.
bool StepSimulation::agree(const Walker &a, const Walker &b) {
  const plan::Instruction &x = a.instruction(), &y = b.instruction();
  const plan::Buffer &from = a.stage->buffers(x.inputs(0)), &other = b.stage->buffers(y.inputs(0));
  bool same = x.kind() == y.kind() && x.opcode() == y.opcode() && x.dim() == y.dim() && x.dim2() == y.dim2() &&
              from.dtype() == other.dtype() &&
              std::equal(from.shape().begin(), from.shape().end(), other.shape().begin(), other.shape().end()) &&
              std::equal(x.layouts().begin(), x.layouts().end(), y.layouts().begin(), y.layouts().end());
  std::string variable = variableIn(*a.stage, x.inputs(0)), peer = variableIn(*b.stage, y.inputs(0));
  if (same && !variable.empty() && !peer.empty() && variable != peer) {
    problems.add("collectives of group " + std::to_string(x.group()) + " do not match: " + place(a) + " on variable '" +
                 variable + "' meets " + place(b) + " on '" + peer + "'");
    return false;
  }
  if (!same)
    problems.add("collectives of group " + std::to_string(x.group()) + " do not match: " + place(a) + " on " +
                 tensorText(from) + " meets " + place(b) + " on " + tensorText(other));
  return same;
}

bool StepSimulation::stepCollective(Walker &walker) {
  uint32_t group = walker.instruction().group();
  const auto &listed = plan.groups(group).stages();
  std::vector<int64_t> stages(listed.begin(), listed.end());
  if (stages.empty())
    for (size_t i = 0; i < walkers.size(); ++i)
      stages.push_back(static_cast<int64_t>(i));
  for (int64_t stage : stages) {
    const Walker &peer = walkers[stage];
    if (peer.done())
      return false;
    const plan::Instruction &theirs = peer.instruction();
    if (!spansStages(theirs) || theirs.group() != group)
      return false;
  }
  for (int64_t stage : stages)
    if (!agree(walker, walkers[stage]))
      return false;
  for (int64_t stage : stages)
    walkers[stage].advance();
  return true;
}

void StepSimulation::reportDeadlock() {
  std::string text = "no stage can advance:";
  int listed = 0;
  for (const Walker &walker : walkers) {
    if (walker.done() || ++listed > 8)
      continue;
    const plan::Instruction &instruction = walker.instruction();
    text += (listed > 1 ? "; " : " ") + place(walker);
    if (instruction.kind() == plan::Instruction::SEND)
      text += " waits for room in channel " + std::to_string(instruction.channel());
    else if (instruction.kind() == plan::Instruction::RECV)
      text += " waits for a message on channel " + std::to_string(instruction.channel());
    else
      text += " waits for the other stages of group " + std::to_string(instruction.group());
  }
  for (const Walker &walker : walkers)
    if (walker.done())
      text += "; stage " + std::to_string(walker.stage->stage()) + " is at the end of its step";
  problems.add(text);
}

void tgpt::runtime::checkProgress(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems) {
  StepSimulation(plan, problems).run();
}
