//===- StepActions.h - a plan's instructions as a simulation sees them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each instruction of each segment, once: what it waits for, and how long it takes alone.
// Micro-batches share them.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_STEPACTIONS_H
#define TGPT_RUNTIME_SIM_STEPACTIONS_H

#include "cost/InstructionTime.h"
#include "cost/cluster/Cluster.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/sim/MeasuredTimes.h"
#include "runtime/sim/SimulatedStep.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace tgpt::runtime::sim {

/// What an instruction does to its rank.
enum class ActionKind : uint8_t {
  Compute,  ///< a kernel, or anything else within the rank
  Exchange, ///< a collective that the rank waits for, within its stage
  Start,    ///< a collective that is started
  Wait,     ///< for a started one
  Send,
  Receive,
  Meet ///< a collective that spans stages
};

struct Action {
  ActionKind kind = ActionKind::Compute;
  Traffic traffic = Traffic::Tensor;                             ///< of communication
  plan::Instruction::Stream stream = plan::Instruction::COMPUTE; ///< Start: where it runs
  int partner = 0;                                               ///< channel, group or event
  double seconds = 0;                                            ///< once nothing is to wait for
  double runSeconds = 0; ///< Compute: of this and all Compute that directly follow
  int runEnd = 0;        ///< and where those end
};

using SegmentActions = std::vector<Action>;

/// A plan's dtype in a cluster's figures; none of integers.
std::optional<cost::Dtype> floatDtype(plan::DType dtype);

/// A valid plan on a cluster.
class StepActions {
public:
  StepActions(const plan::Plan &plan, const cost::Cluster &cluster);

  const SegmentActions &of(int stage, int segment) const { return actions[stage][segment]; }
  const RankGrid &getGrid() const { return grid; }
  /// The rank that stands for a stage.
  int64_t rankOf(int stage) const { return ranks[stage]; }
  /// Stages that meet in a group.
  const std::vector<int> &membersOf(int group) const { return members[group]; }
  /// Most events of a segment, and one.
  int eventCount() const { return events; }

private:
  Action actionOf(const plan::StageProgram &stage, const plan::Instruction &instruction);
  void addCollective(const plan::StageProgram &stage, const plan::Instruction &instruction, Action &action);
  cost::InstructionFacts kernelFacts(const plan::StageProgram &stage, const plan::Instruction &instruction) const;
  const cost::Group &groupOf(int stage, int group);
  Traffic trafficOf(int group) const;
  double secondsOf(const cost::InstructionFacts &facts) const;

  const plan::Plan &plan;
  const cost::Cluster &cluster;
  RankGrid grid;
  MeasuredTimes measured;
  std::vector<int64_t> ranks;
  std::vector<std::vector<int>> members;
  std::map<std::pair<int, int>, cost::Group> groups; ///< by stage and index
  std::vector<std::vector<SegmentActions>> actions;
  int events = 1;
};

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_STEPACTIONS_H
