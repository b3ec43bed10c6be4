//===- NcclPlanCheck.cpp - what NCCL cannot do ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/plan/Error.h"

using namespace tgpt;
using namespace tgpt::runtime;

using plan::Instruction;

static bool isCollective(const Instruction &instruction) {
  return instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL;
}

/// A buffer's shape; nothing else of the view is used.
static TensorView shapeOf(const plan::StageProgram &stage, uint32_t buffer) {
  const plan::Buffer &source = stage.buffers(static_cast<int>(buffer));
  TensorView view;
  view.rank = static_cast<uint8_t>(source.shape_size());
  std::copy(source.shape().begin(), source.shape().end(), view.shape.begin());
  return view;
}

/// NCCL calls that an instruction takes.
static int64_t callsOf(const plan::StageProgram &stage, const Instruction &instruction, int64_t members) {
  if (instruction.kind() == Instruction::ALL_REDUCE)
    return 1;
  TensorView input = shapeOf(stage, instruction.inputs(0));
  auto dim = static_cast<int>(instruction.dim());
  if (instruction.kind() == Instruction::ALL_TO_ALL)
    return 2 * members * runsOfAllToAll(input, members, dim, static_cast<int>(instruction.dim2()));
  return runsAlong(input, dim);
}

static std::string placeOf(const plan::Plan &plan, const plan::StageProgram &stage, const plan::Segment &segment,
                           int index) {
  const Instruction &instruction = segment.instructions(index);
  return "stage " + std::to_string(stage.stage()) + ", segment '" + segment.name() + "', instruction " +
         std::to_string(index) + " (" + plan.locations(static_cast<int>(instruction.location())) + "): ";
}

void tgpt::runtime::checkNcclPlan(const plan::Plan &plan, const RankGrid &grid) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      for (int i = 0; i < segment.instructions_size(); ++i) {
        const Instruction &instruction = segment.instructions(i);
        if (!isCollective(instruction))
          continue;
        int64_t members = groupSize(grid, plan.groups(static_cast<int>(instruction.group())));
        if (members == 1)
          continue;
        if (instruction.opcode() == "tree_sum")
          throw Error(placeOf(plan, stage, segment, i) +
                      "NCCL adds in an order of its own, but the plan asks for that of --reduction=canonical: compile "
                      "it without, or run it on the CPU (--backend=cpu)");
        if (int64_t calls = callsOf(stage, instruction, members); calls > mostCallsAtOnce)
          throw Error(placeOf(plan, stage, segment, i) + "a collective along dimension " +
                      std::to_string(instruction.dim()) + " is " + std::to_string(calls) +
                      " calls of NCCL, one for each run of elements, at most " + std::to_string(mostCallsAtOnce) +
                      " are made: use smaller micro-batches, or another sharding");
      }
}
