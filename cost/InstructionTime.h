//===- InstructionTime.h - seconds of one instruction of a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From what a plan's instruction says of itself to its time on a device, alone on it and
// with everyone it meets already there. Kernels and copies within a rank follow
// KernelTime, as stages are cut by; collectives and messages follow CollectiveTime. What
// an opcode computes does not matter.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_INSTRUCTIONTIME_H
#define TGPT_COST_INSTRUCTIONTIME_H

#include "cost/KernelTime.h"
#include "cost/Topology.h"

namespace tgpt::cost {

/// What an instruction does, as far as its time goes.
enum class InstructionKind {
  Kernel, ///< computes or copies within the rank
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Message ///< to another rank
};

/// What an instruction's time follows from.
struct InstructionFacts {
  InstructionKind kind = InstructionKind::Kernel;
  KernelFacts kernel; ///< of a kernel
  double tensorBytes =
      0;               ///< of a collective: the whole tensor (all_to_all: what a rank holds); of a message: all of it
  Group group;         ///< of a collective
  double distance = 0; ///< of a message: ranks from sender to receiver
};

double instructionSeconds(const DeviceProfile &device, const Topology &topology, const InstructionFacts &facts);

} // namespace tgpt::cost

#endif // TGPT_COST_INSTRUCTIONTIME_H
