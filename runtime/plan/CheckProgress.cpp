//===- CheckProgress.cpp - do all stages reach the end of a step? -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the ends must match: a channel has one SEND and one RECV instruction, run as often
// as each other and for the same micro-batches in the same order, and the n-th collective
// of a group is the same at all of its stages. Then the happens-before graph (StepGraph)
// must have no cycle. What waits never takes away what another waits for, so a step whose
// graph has an order ends in every real run, and one with a cycle hangs in every run; the
// cycle is then reported, stage by stage.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"
#include "runtime/plan/StepGraph.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

class ProgressCheck {
public:
  ProgressCheck(const plan::Plan &plan, PlanProblems &problems) : plan(plan), problems(problems), graph(plan) {}

  void run() {
    for (int channel = 0; channel < plan.channels_size() && !problems.full(); ++channel)
      checkChannel(channel);
    for (int group = 0; group < plan.groups_size() && !problems.full(); ++group)
      checkGroup(group);
    if (problems.any())
      return;
    std::vector<int> reached;
    if (static_cast<int>(graph.order(reached).size()) < graph.size())
      reportCycle(reached);
  }

private:
  void checkChannel(int channel);
  bool isOneInstruction(int channel, const StepGraph::Sequence &nodes, const char *what);
  void checkGroup(int group);
  bool agree(int node, int peer);
  void reportCycle(const std::vector<int> &reached);
  std::string waitText(int node, int awaited) const;

  const plan::Plan &plan;
  PlanProblems &problems;
  StepGraph graph;
};

} // namespace

static std::string channelText(const plan::Plan &plan, int index) {
  const plan::Channel &channel = plan.channels(index);
  return "channel " + std::to_string(index) + " from stage " + std::to_string(channel.from_stage()) + " to stage " +
         std::to_string(channel.to_stage());
}

/// A channel carries one value: with two, one message could be taken for the other.
bool ProgressCheck::isOneInstruction(int channel, const StepGraph::Sequence &nodes, const char *what) {
  for (int node : nodes)
    if (&graph.instruction(node) != &graph.instruction(nodes.front())) {
      problems.add(channelText(plan, channel) + " is " + what +
                   " by two instructions: " + graph.placeOf(nodes.front()) + " and " + graph.placeOf(node));
      return false;
    }
  return true;
}

void ProgressCheck::checkChannel(int channel) {
  const StepGraph::Sequence &sends = graph.sendsOf(channel), &receives = graph.receivesOf(channel);
  if (!isOneInstruction(channel, sends, "sent to") || !isOneInstruction(channel, receives, "received from"))
    return;
  size_t both = std::min(sends.size(), receives.size());
  for (size_t i = 0; i < both; ++i)
    if (graph.microBatch(sends[i]) != graph.microBatch(receives[i]))
      return problems.add("message " + std::to_string(i) + " of " + channelText(plan, channel) + " is of micro-batch " +
                          std::to_string(graph.microBatch(sends[i])) + " but is received for micro-batch " +
                          std::to_string(graph.microBatch(receives[i])) + ": " + graph.placeOf(sends[i]) + " meets " +
                          graph.placeOf(receives[i]));
  if (sends.size() != receives.size())
    problems.add(channelText(plan, channel) + " is sent " + std::to_string(sends.size()) +
                 " messages a step, of which " + std::to_string(receives.size()) + " are received; " +
                 (sends.size() > both ? graph.placeOf(sends[both]) + " is received by nobody"
                                      : graph.placeOf(receives[both]) + " waits for what nobody sends"));
}

/// The variable that lives in the buffer; empty where none does.
static std::string variableIn(const plan::StageProgram &stage, uint32_t buffer) {
  for (const plan::Variable &variable : stage.variables())
    if (variable.buffer() == buffer)
      return variable.name();
  return "";
}

/// Two stages that meet in a group do the same there, to the same variable if each does it to one.
bool ProgressCheck::agree(int node, int peer) {
  const plan::StageProgram &here = plan.stages(graph.at(node).stage), &there = plan.stages(graph.at(peer).stage);
  const plan::Instruction &x = graph.instruction(node), &y = graph.instruction(peer);
  const plan::Buffer &from = here.buffers(x.inputs(0)), &other = there.buffers(y.inputs(0));
  bool same = x.kind() == y.kind() && x.opcode() == y.opcode() && x.dim() == y.dim() && x.dim2() == y.dim2() &&
              from.dtype() == other.dtype() &&
              std::equal(from.shape().begin(), from.shape().end(), other.shape().begin(), other.shape().end()) &&
              std::equal(x.layouts().begin(), x.layouts().end(), y.layouts().begin(), y.layouts().end()) &&
              x.values_size() == y.values_size() && (x.values_size() < 2 || x.values(1) == y.values(1)) &&
              graph.microBatch(node) == graph.microBatch(peer);
  std::string what = tensorText(from), others = tensorText(other);
  std::string variable = variableIn(here, x.inputs(0)), theirs = variableIn(there, y.inputs(0));
  if (same && !variable.empty() && !theirs.empty() && variable != theirs) {
    same = false;
    what = "variable '" + variable + "'";
    others = "'" + theirs + "'";
  }
  if (!same)
    problems.add("collectives of group " + std::to_string(x.group()) + " do not match: " + graph.placeOf(node) +
                 " on " + what + " meets " + graph.placeOf(peer) + " on " + others);
  return same;
}

void ProgressCheck::checkGroup(int group) {
  const std::vector<int> &members = graph.membersOf(group);
  if (members.empty())
    return;
  const StepGraph::Sequence &first = graph.collectivesOf(group, members.front());
  for (int stage : members) {
    const StepGraph::Sequence &own = graph.collectivesOf(group, stage);
    size_t both = std::min(own.size(), first.size());
    for (size_t i = 0; i < both; ++i)
      if (stage != members.front() && !agree(first[i], own[i]))
        return;
    if (own.size() != first.size())
      return problems.add("stage " + std::to_string(members.front()) + " comes to group " + std::to_string(group) +
                          " " + std::to_string(first.size()) + " times a step and stage " + std::to_string(stage) +
                          " " + std::to_string(own.size()) + " times; nobody meets " +
                          graph.placeOf(own.size() > both ? own[both] : first[both]));
  }
}

/// Why `node` waits for `awaited`.
std::string ProgressCheck::waitText(int node, int awaited) const {
  const plan::Instruction &made = graph.instruction(node);
  std::string channel = std::to_string(made.channel());
  if (made.kind() == plan::Instruction::RECV)
    return "waits for a message on channel " + channel + ", sent by " + graph.placeOf(graph.peerOf(node));
  if (made.kind() == plan::Instruction::SEND && plan.channels(static_cast<int>(made.channel())).depth() == 0)
    return "waits on channel " + channel + ", a rendezvous, for " + graph.placeOf(awaited);
  if (made.kind() == plan::Instruction::SEND)
    return "waits for room in channel " + channel + " of depth " +
           std::to_string(plan.channels(static_cast<int>(made.channel())).depth()) + ", made by " +
           graph.placeOf(awaited);
  return "waits in group " + std::to_string(made.group()) + " for stage " + std::to_string(graph.at(awaited).stage) +
         ", which comes to it behind " + graph.placeOf(awaited);
}

/// Follows the waits from any stage that is held up until one comes again: from there on it is the cycle.
void ProgressCheck::reportCycle(const std::vector<int> &reached) {
  std::vector<std::pair<int, int>> path; // a node that is held up, and what it waits for
  auto visited = [&](int node) {
    return std::find_if(path.begin(), path.end(), [&](const auto &step) { return step.first == node; });
  };
  int stage = 0;
  while (reached[stage] == graph.end(stage))
    ++stage;
  int node = reached[stage];
  while (visited(node) == path.end()) {
    std::vector<int> awaited = graph.waitsFor(node);
    int missing = *std::find_if(awaited.begin(), awaited.end(),
                                [&](int other) { return other >= reached[graph.at(other).stage]; });
    path.emplace_back(node, missing);
    node = reached[graph.at(missing).stage];
  }
  path.erase(path.begin(), visited(node));
  std::string text = "deadlock: stage " + std::to_string(graph.at(path.front().first).stage);
  for (const auto &[held, awaited] : path)
    text += " waits for stage " + std::to_string(graph.at(awaited).stage) +
            (awaited == path.back().second ? "" : ", which");
  for (const auto &[held, awaited] : path)
    text += "\n  " + graph.placeOf(held) + " " + waitText(held, awaited);
  problems.add(text);
}

void tgpt::runtime::checkProgress(const plan::Plan &plan, const RankGrid &, PlanProblems &problems) {
  ProgressCheck(plan, problems).run();
}
