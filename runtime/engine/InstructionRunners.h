//===- InstructionRunners.h - how each kind is executed ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_INSTRUCTIONRUNNERS_H
#define TGPT_RUNTIME_ENGINE_INSTRUCTIONRUNNERS_H

#include "runtime/engine/RankProgram.h"

namespace tgpt::runtime {

/// The runner of a checked instruction.
InstructionRunner runnerOf(const plan::Instruction &instruction);
/// The runner of a collective that is started: hands it over, or executes it at once.
InstructionRunner startRunner();
/// How a reduction adds.
Reduction reductionOf(const plan::Instruction &instruction);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_INSTRUCTIONRUNNERS_H
