//===- InstructionCheck.h - the checks of one instruction -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_INSTRUCTIONCHECK_H
#define TGPT_RUNTIME_PLAN_INSTRUCTIONCHECK_H

#include "runtime/plan/PlanProblems.h"

namespace tgpt::runtime {

/// The checks of one instruction; the first problem found is the one reported.
class InstructionCheck {
public:
  InstructionCheck(const plan::Plan &plan, const RankGrid &grid, const plan::StageProgram &stage,
                   const plan::Segment &segment, const plan::Instruction &instruction)
      : plan(plan), grid(grid), stage(stage), segment(segment), instruction(instruction) {}

  /// What is wrong with the instruction, or an empty string.
  std::string run(const KernelCheck &kernelCheck) {
    if (indices() && slots() && workspace() && attributes() && byKind() && stream() && overlaps() &&
        instruction.kind() == plan::Instruction::KERNEL && kernelCheck)
      problem = kernelCheck(stage, instruction);
    return problem;
  }

private:
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  const plan::Buffer &input(int i) const { return stage.buffers(instruction.inputs(i)); }
  const plan::Buffer &output(int i) const { return stage.buffers(instruction.outputs(i)); }
  using Shape = std::vector<int64_t>;
  Shape shapeOf(const plan::Buffer &buffer) const { return {buffer.shape().begin(), buffer.shape().end()}; }

  // Any instruction (CheckInstructions.cpp).
  bool indices();
  bool cost();
  bool slots();
  bool workspace();
  bool attributes();
  bool byKind();
  bool operands(int inputs, int outputs);
  bool kernel();
  bool overlaps();

  // Collectives, messages and what waits for them (CheckCommunication.cpp).
  bool collective();
  bool reduction();
  bool collectiveShape(int64_t size);
  bool message();
  bool wait();
  bool stream();

  const plan::Plan &plan;
  const RankGrid &grid;
  const plan::StageProgram &stage;
  const plan::Segment &segment; // the instruction's
  const plan::Instruction &instruction;
  std::string problem;
};

/// Either all sums over ranks are added in a tree, or none.
void checkOrderOfSums(const plan::Plan &plan, PlanProblems &problems);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_INSTRUCTIONCHECK_H
