//===- Problem.h - what a plan is searched for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model's shape, a machine, a number of GPUs, a batch, and what is not up to the search.
// Plain numbers, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_PROBLEM_H
#define TGPT_COMPILER_SEARCH_PROBLEM_H

#include "compiler/search/Pins.h"
#include "cost/ModelShape.h"
#include <functional>

namespace tgpt::search {

/// What tgpt-plan takes.
inline constexpr int64_t mostGpus = 1 << 20;

struct Problem {
  cost::ModelShape shape;
  cost::Machine machine;  ///< with --overlap
  cost::Machine blocking; ///< without: every collective is waited for where it stands
  cost::StateBytes states;
  cost::OperandType operands = cost::OperandType::Bits16;
  double elementBytes = 2;
  double memoryBytes = 0; ///< that a rank's arena and its communicators may take
  /// Of these, what communicators take; it may depend on the grid, sp and ZeRO. Empty: nothing.
  std::function<double(const Candidate &)> communicatorBytes;
  double productWorkspaceBytes = 0; ///< of the arena, for products
  int64_t gpus = 1;
  int64_t globalBatch = 1; ///< sequences of a step
  Pins pins;

  /// That a rank's arena may take.
  double arenaLimit(const Candidate &candidate) const {
    return memoryBytes - (communicatorBytes ? communicatorBytes(candidate) : 0);
  }
  const cost::Machine &machineOf(const Candidate &candidate) const { return candidate.overlap ? machine : blocking; }
  cost::Execution executionOf(const Candidate &candidate) const {
    cost::Execution run = search::executionOf(candidate, operands, elementBytes);
    run.productWorkspaceBytes = productWorkspaceBytes;
    return run;
  }
};

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_PROBLEM_H
