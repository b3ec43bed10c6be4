//===- CommunicatorBytes.cpp - what a plan's communicators take of a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/CommunicatorBytes.h"
#include "runtime/plan/RankGrid.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace tgpt;
using plan::Instruction;

cost::CommunicatorCount tgpt::communicatorsOf(const plan::Plan &plan, int stage) {
  runtime::RankGrid grid(plan.mesh());
  const plan::StageProgram &program = plan.stages(stage);
  std::set<uint32_t> groups;
  std::set<int64_t> peers;
  for (const plan::Segment &segment : program.segments())
    for (const Instruction &instruction : segment.instructions()) {
      bool isCollective =
          instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL;
      bool isMessage = instruction.kind() == Instruction::SEND || instruction.kind() == Instruction::RECV;
      if (isCollective && groupSize(grid, plan.groups(static_cast<int>(instruction.group()))) > 1)
        groups.insert(instruction.group());
      if (isMessage && instruction.peer_stage() != program.stage())
        peers.insert(instruction.peer_stage());
    }
  return {static_cast<double>(groups.size()), static_cast<double>(peers.size())};
}

static std::string counted(double count, const std::string &noun) {
  return std::to_string(static_cast<int64_t>(count)) + " " + noun + (count == 1 ? "" : "s");
}

OutsideBytes tgpt::communicatorBytes(const plan::Plan &plan, const cost::CommunicatorMemory &memory,
                                     const std::string &source) {
  cost::CommunicatorCount most;
  for (int stage = 0; stage < plan.stages_size(); ++stage)
    if (cost::CommunicatorCount count = communicatorsOf(plan, stage); memory.bytesOf(count) > memory.bytesOf(most))
      most = count;
  return {counted(most.communicators, "communicator") + " and " + counted(most.peers, "peer"),
          std::llround(std::min(memory.bytesOf(most), 0x1p60)), source};
}
