//===- RankCommunicators.cpp - the communicators that a plan needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/RankCommunicators.h"
#include "runtime/plan/RankGrid.h"
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;
using plan::Instruction;

cost::CommunicatorCount tgpt::runtime::communicatorsOf(const plan::Plan &plan, int stage) {
  RankGrid grid(plan.mesh());
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
