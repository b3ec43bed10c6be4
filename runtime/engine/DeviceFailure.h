//===- DeviceFailure.h - which instruction a stream was at ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_DEVICEFAILURE_H
#define TGPT_RUNTIME_ENGINE_DEVICEFAILURE_H

#include "runtime/engine/RankProgram.h"
#include "runtime/plan/Error.h"

namespace tgpt::runtime {

/// An instruction that failed, perhaps long after it was issued.
class InstructionFailed : public Error {
public:
  InstructionFailed(const BoundInstruction &instruction, const std::string &what)
      : Error(what), segment(instruction.segment), index(instruction.index) {}
  const int segment, index;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_DEVICEFAILURE_H
