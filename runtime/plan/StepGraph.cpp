//===- StepGraph.cpp - what waits for what in a step ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Edges follow from a node's place in its sequence, so they are computed when asked for.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/StepGraph.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

static bool isCollective(const plan::Instruction &instruction) {
  return instruction.kind() >= plan::Instruction::ALL_REDUCE && instruction.kind() <= plan::Instruction::ALL_TO_ALL;
}

static std::vector<int> stagesOf(const plan::Plan &plan, const plan::Group &group) {
  std::vector<int> stages;
  if (std::find(group.axes().begin(), group.axes().end(), "pp") == group.axes().end())
    return stages;
  for (int stage = 0; stage < plan.stages_size(); ++stage)
    if (group.stages().empty() ||
        std::find(group.stages().begin(), group.stages().end(), stage) != group.stages().end())
      stages.push_back(stage);
  return stages;
}

StepGraph::StepGraph(const plan::Plan &plan) : plan(plan), sends(plan.channels_size()), receives(plan.channels_size()) {
  for (const plan::Group &group : plan.groups()) {
    members.push_back(stagesOf(plan, group));
    collectives.emplace_back(plan.stages_size());
  }
  for (const plan::StageProgram &stage : plan.stages())
    addNodes(stage);
  firstOfStage.push_back(size());
}

void StepGraph::addNodes(const plan::StageProgram &stage) {
  firstOfStage.push_back(size());
  int number = static_cast<int>(firstOfStage.size()) - 1;
  std::vector<std::vector<int>> waiting; // per segment: the instructions that are nodes
  for (const plan::Segment &segment : stage.segments()) {
    std::vector<int> &places = waiting.emplace_back();
    for (int i = 0; i < segment.instructions_size(); ++i) {
      const plan::Instruction &instruction = segment.instructions(i);
      if (instruction.kind() == plan::Instruction::SEND || instruction.kind() == plan::Instruction::RECV ||
          (isCollective(instruction) && !members[instruction.group()].empty()))
        places.push_back(i);
    }
  }
  for (int entry = 0; entry < stage.schedule_size(); ++entry)
    for (int index : waiting[stage.schedule(entry).segment()]) {
      int node = size();
      nodes.push_back({number, entry, index});
      const plan::Instruction &made = instruction(node);
      Sequence &sequence = made.kind() == plan::Instruction::SEND   ? sends[made.channel()]
                           : made.kind() == plan::Instruction::RECV ? receives[made.channel()]
                                                                    : collectives[made.group()][number];
      positions.push_back(static_cast<int>(sequence.size()));
      sequence.push_back(node);
    }
}

const plan::Instruction &StepGraph::instruction(int node) const {
  const plan::StageProgram &stage = plan.stages(nodes[node].stage);
  int segment = static_cast<int>(stage.schedule(nodes[node].entry).segment());
  return stage.segments(segment).instructions(nodes[node].instruction);
}

int64_t StepGraph::microBatch(int node) const {
  return plan.stages(nodes[node].stage).schedule(nodes[node].entry).micro_batch();
}

int StepGraph::peerOf(int node) const {
  const plan::Instruction &made = instruction(node);
  return (made.kind() == plan::Instruction::SEND ? receives : sends)[made.channel()][positions[node]];
}

std::vector<int> StepGraph::waitsFor(int node) const {
  const plan::Instruction &made = instruction(node);
  int position = positions[node];
  auto arrival = [&](int at) { return at > begin(nodes[at].stage) ? std::vector<int>{at - 1} : std::vector<int>(); };
  bool isMessage = made.kind() == plan::Instruction::SEND || made.kind() == plan::Instruction::RECV;
  int64_t depth = isMessage ? plan.channels(static_cast<int>(made.channel())).depth() : 0;
  if (made.kind() == plan::Instruction::RECV)
    return depth > 0 ? std::vector<int>{peerOf(node)} : arrival(peerOf(node));
  if (made.kind() == plan::Instruction::SEND) {
    int64_t freed = position - depth;
    return freed < 0 ? std::vector<int>() : std::vector<int>{receives[made.channel()][freed]};
  }
  std::vector<int> arrivals;
  for (int stage : members[made.group()])
    if (stage != nodes[node].stage)
      for (int before : arrival(collectives[made.group()][stage][position]))
        arrivals.push_back(before);
  return arrivals;
}

std::vector<int> StepGraph::order(std::vector<int> &reached) const {
  std::vector<int> done;
  done.reserve(nodes.size());
  reached.assign(firstOfStage.begin(), firstOfStage.end() - 1);
  auto hasHappened = [&](int node) { return node < reached[nodes[node].stage]; };
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < stages(); ++stage)
      for (; reached[stage] < end(stage); ++reached[stage]) {
        std::vector<int> awaited = waitsFor(reached[stage]);
        if (!std::all_of(awaited.begin(), awaited.end(), hasHappened))
          break;
        done.push_back(reached[stage]);
        moved = true;
      }
  }
  return done;
}

std::string StepGraph::placeOf(int node) const {
  const StepNode &place = nodes[node];
  const plan::StageProgram &stage = plan.stages(place.stage);
  const plan::ScheduleEntry &entry = stage.schedule(place.entry);
  std::string text = "stage " + std::to_string(place.stage) + ", entry " + std::to_string(place.entry) + " of " +
                     std::to_string(stage.schedule_size()) + " (segment '" + stage.segments(entry.segment()).name() +
                     "'";
  if (entry.micro_batch() >= 0)
    text += ", micro-batch " + std::to_string(entry.micro_batch());
  return text + "), instruction " + std::to_string(place.instruction) + " (" +
         instructionAndLocation(plan, instruction(node)) + ")";
}
