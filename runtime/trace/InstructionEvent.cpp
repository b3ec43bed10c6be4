//===- InstructionEvent.cpp - an instruction of a step, with its times ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/InstructionEvent.h"
#include "runtime/plan/PlanText.h"

using namespace tgpt;

std::string tgpt::runtime::eventName(const plan::Instruction &instruction) {
  std::string text = instructionText(instruction);
  return instruction.kind() == plan::Instruction::KERNEL ? text : text.substr(0, text.find(' '));
}
