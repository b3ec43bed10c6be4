//===- StepActions.cpp - a plan's instructions as a simulation sees them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StepActions.h"
#include "runtime/plan/BufferExtent.h"

#include <algorithm>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using plan::Instruction;

static double bytesOf(const plan::StageProgram &stage, uint32_t buffer) {
  const plan::Buffer &tensor = stage.buffers(static_cast<int>(buffer));
  return static_cast<double>(tensorBytes(tensor.dtype(), tensor.shape()).value_or(0));
}

std::optional<cost::Dtype> tgpt::runtime::sim::floatDtype(plan::DType dtype) {
  switch (dtype) {
  case plan::F64: return cost::Dtype::F64;
  case plan::F32: return cost::Dtype::F32;
  case plan::BF16: return cost::Dtype::BF16;
  case plan::F16: return cost::Dtype::F16;
  default: return std::nullopt;
  }
}

/// In which dtype an instruction computes: that of its first operand of floating-point numbers.
static cost::Dtype computeDtype(const plan::StageProgram &stage, const Instruction &instruction) {
  for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
    for (uint32_t buffer : *operands)
      if (auto dtype = floatDtype(stage.buffers(static_cast<int>(buffer)).dtype()))
        return *dtype;
  return cost::Dtype::F32;
}

StepActions::StepActions(const plan::Plan &plan, const cost::Cluster &cluster)
    : plan(plan), cluster(cluster), grid(plan.mesh()), measured(cluster, grid.ranks()) {
  for (int s = 0; s < plan.stages_size(); ++s)
    ranks.push_back(grid.sameButStage(0, s));
  for (const plan::Group &group : plan.groups()) {
    std::vector<int> stages(group.stages().begin(), group.stages().end());
    if (stages.empty() && std::count(group.axes().begin(), group.axes().end(), "pp")) {
      stages.resize(plan.stages_size());
      std::iota(stages.begin(), stages.end(), 0);
    }
    members.push_back(std::move(stages));
  }
  for (const plan::StageProgram &stage : plan.stages()) {
    std::vector<SegmentActions> &segments = actions.emplace_back();
    for (const plan::Segment &segment : stage.segments()) {
      SegmentActions &list = segments.emplace_back();
      for (const Instruction &instruction : segment.instructions()) {
        list.push_back(actionOf(stage, instruction));
        events = std::max(events, static_cast<int>(instruction.event()) + 1);
      }
      for (int i = static_cast<int>(list.size()) - 1; i >= 0; --i) {
        bool goesOn = i + 1 < static_cast<int>(list.size()) && list[i + 1].kind == ActionKind::Compute;
        list[i].runSeconds = list[i].seconds + (goesOn ? list[i + 1].runSeconds : 0);
        list[i].runEnd = goesOn ? list[i + 1].runEnd : i + 1;
      }
    }
  }
}

double StepActions::secondsOf(const cost::InstructionFacts &facts) const {
  return cost::instructionSeconds(cluster.device, cluster.topology, facts);
}

cost::InstructionFacts StepActions::kernelFacts(const plan::StageProgram &stage, const Instruction &instruction) const {
  static constexpr cost::KernelKind kinds[] = {cost::KernelKind::Vector, cost::KernelKind::MatrixProduct,
                                               cost::KernelKind::Attention};
  const plan::Cost &cost = instruction.cost();
  bool isKnown = cost.work() >= 0 && cost.work() < static_cast<int>(std::size(kinds)); // else of a newer compiler
  cost::InstructionFacts facts;
  facts.kernel.flops = static_cast<double>(cost.flops());
  facts.kernel.bytesRead = static_cast<double>(cost.bytes_read());
  facts.kernel.bytesWritten = static_cast<double>(cost.bytes_written());
  facts.kernel.dtype = computeDtype(stage, instruction);
  if (isKnown)
    facts.kernel.kind = kinds[cost.work()];
  if (facts.kernel.kind == cost::KernelKind::Vector) {
    facts.kernel.bytesRead *= cluster.software.elementwiseTraffic;
    facts.kernel.bytesWritten *= cluster.software.elementwiseTraffic;
  }
  if (facts.kernel.kind == cost::KernelKind::Attention)
    facts.kernel.flops /= cluster.software.attentionRate;
  return facts;
}

/// A group's ranks and their distance: the mean one, where other axes lie between those of the group.
const cost::Group &StepActions::groupOf(int stage, int group) {
  auto [known, isNew] = groups.try_emplace({stage, group});
  if (!isNew)
    return known->second;
  std::vector<int64_t> all = grid.groupMembers(plan.groups(group), ranks[stage]);
  int64_t stride = (all.back() - all.front()) / std::max<int64_t>(static_cast<int64_t>(all.size()) - 1, 1);
  known->second = {static_cast<double>(all.size()), static_cast<double>(std::max<int64_t>(stride, 1))};
  return known->second;
}

Traffic StepActions::trafficOf(int group) const {
  auto has = [&](std::string_view name) {
    const auto &axes = plan.groups(group).axes();
    return grid.axisSize(name) > 1 && std::find(axes.begin(), axes.end(), name) != axes.end();
  };
  return has("pp") ? Traffic::Pipeline : has("dp") || has("dp_replica") ? Traffic::Data : Traffic::Tensor;
}

void StepActions::addCollective(const plan::StageProgram &stage, const Instruction &instruction, Action &action) {
  static constexpr cost::InstructionKind kinds[] = {cost::InstructionKind::AllReduce, cost::InstructionKind::AllGather,
                                                    cost::InstructionKind::ReduceScatter,
                                                    cost::InstructionKind::AllToAll};
  int group = static_cast<int>(instruction.group());
  cost::InstructionFacts facts;
  facts.kind = kinds[instruction.kind() - Instruction::ALL_REDUCE];
  facts.tensorBytes = std::max(bytesOf(stage, instruction.inputs(0)), bytesOf(stage, instruction.outputs(0)));
  facts.group = groupOf(static_cast<int>(stage.stage()), group);
  action.kind = members[group].size() > 1  ? ActionKind::Meet
                : instruction.event() != 0 ? ActionKind::Start
                                           : ActionKind::Exchange;
  action.traffic = trafficOf(group);
  action.stream = instruction.event() != 0 ? instruction.stream() : Instruction::COMPUTE;
  action.partner = action.kind == ActionKind::Start ? static_cast<int>(instruction.event()) : group;
  double share = action.traffic == Traffic::Data ? cluster.software.dataBandwidth : 1;
  action.seconds =
      measured.ofCollective(instruction, facts.group, facts.tensorBytes).value_or(secondsOf(facts) / share);
}

Action StepActions::actionOf(const plan::StageProgram &stage, const Instruction &instruction) {
  Action action;
  action.seconds = 0;
  switch (instruction.kind()) {
  case Instruction::ALL_REDUCE:
  case Instruction::ALL_GATHER:
  case Instruction::REDUCE_SCATTER:
  case Instruction::ALL_TO_ALL: addCollective(stage, instruction, action); return action;
  case Instruction::WAIT:
    action.kind = ActionKind::Wait;
    action.partner = static_cast<int>(instruction.event());
    return action;
  case Instruction::SEND:
  case Instruction::RECV: {
    const plan::Channel &channel = plan.channels(static_cast<int>(instruction.channel()));
    bool isSend = instruction.kind() == Instruction::SEND, isRendezvous = channel.depth() == 0;
    action.kind = isSend ? ActionKind::Send : ActionKind::Receive;
    action.traffic = Traffic::Pipeline;
    action.partner = static_cast<int>(instruction.channel());
    // The sender copies into the receiver's message buffer, the receiver out of it; in a rendezvous there is one copy.
    int64_t from = ranks[channel.from_stage()], to = ranks[channel.to_stage()];
    cost::InstructionFacts facts = kernelFacts(stage, instruction);
    auto bytes = static_cast<double>(tensorBytes(channel.dtype(), channel.shape()).value_or(0));
    facts.kernel.bytesRead = facts.kernel.bytesWritten = bytes;
    if (from != to && (isSend || isRendezvous)) {
      facts.kind = cost::InstructionKind::Message;
      facts.tensorBytes = bytes;
      facts.distance = static_cast<double>(std::abs(to - from));
    }
    bool isMessage = facts.kind == cost::InstructionKind::Message;
    double start = isMessage ? cluster.software.sendStartSeconds : 0;
    action.seconds = measured.ofMessage(bytes, isMessage).value_or(secondsOf(facts) + start);
    return action;
  }
  default:
    action.seconds = measured.ofKernel(stage, instruction).value_or(secondsOf(kernelFacts(stage, instruction)));
    return action;
  }
}
