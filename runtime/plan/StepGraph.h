//===- StepGraph.h - what waits for what in a step --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The happens-before graph of the step of all stages. Its nodes are the instructions,
// each time a schedule runs them, that may wait for another stage: sends, receives and
// collectives that span stages. A node has happened when its instruction is done, which
// takes the node before it in its stage, and
//
//   RECV n of a channel   SEND n; its arrival, where the depth is 0: the node before it
//   SEND n of a channel   RECV n - depth: until then all message buffers are taken. With
//                         depth 0, a rendezvous, that is its own RECV
//   collective            every other member's arrival: the node before its own part
//
// These are the very waits of runtime/comm (SharedMemoryChannel, SharedMemoryGroup).
//
// Ranks of a stage run one program, so a node stands for its instruction on all of them.
// That is enough: if the nodes can be put in an order, so can the instructions of all
// ranks, every rank of a stage passing a node together. A collective within a stage then
// waits only for ranks that are at the same instruction; its members call their groups in
// the same order because they read the same list. What a stage starts beside computation
// never spans stages (CheckInstructions): its ranks start the same collectives in the same
// order, one thread each serves them in that order on communicators of its own, so each
// ends once all members have passed its start, and the WAIT for it stands behind the start.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_STEPGRAPH_H
#define TGPT_RUNTIME_PLAN_STEPGRAPH_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// An instruction in an entry of a stage's schedule.
struct StepNode {
  int stage;
  int entry;
  int instruction;
};

class StepGraph {
public:
  /// The nodes of a plan that is valid but for what CheckProgress checks.
  explicit StepGraph(const plan::Plan &plan);

  /// A node by number. A stage's nodes have consecutive numbers, in order.
  const StepNode &at(int node) const { return nodes[node]; }
  int size() const { return static_cast<int>(nodes.size()); }
  int stages() const { return static_cast<int>(firstOfStage.size()) - 1; }
  int begin(int stage) const { return firstOfStage[stage]; }
  int end(int stage) const { return firstOfStage[stage + 1]; }

  const plan::Instruction &instruction(int node) const;
  int64_t microBatch(int node) const;

  /// The nodes of one channel or of one stage's part in one group, in order.
  using Sequence = std::vector<int>;
  const Sequence &sendsOf(int channel) const { return sends[channel]; }
  const Sequence &receivesOf(int channel) const { return receives[channel]; }
  const Sequence &collectivesOf(int group, int stage) const { return collectives[group][stage]; }
  /// The stages that meet in a group that spans stages; none for another group.
  const std::vector<int> &membersOf(int group) const { return members[group]; }

  /// The other end of a SEND or RECV.
  int peerOf(int node) const;
  /// What a node waits for, apart from the node before it in its stage: nodes that must
  /// have happened. Needs sequences that match (CheckProgress). Node -1 never stands here.
  std::vector<int> waitsFor(int node) const;

  /// Nodes in an order in which all can happen; shorter than size() where some cannot.
  /// `reached` becomes the first node of each stage that cannot happen, or its end.
  std::vector<int> order(std::vector<int> &reached) const;

  /// "stage 1, entry 3 of 12 (segment 'forward', micro-batch 2), instruction 4 (send, model.mlir:7:3 linear)".
  std::string placeOf(int node) const;

private:
  void addNodes(const plan::StageProgram &stage);

  const plan::Plan &plan;
  std::vector<StepNode> nodes;
  std::vector<int> firstOfStage;
  std::vector<int> positions; // by node: its place in its sequence
  std::vector<Sequence> sends, receives;
  std::vector<std::vector<int>> members;
  std::vector<std::vector<Sequence>> collectives;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_STEPGRAPH_H
