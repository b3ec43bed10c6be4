//===- PlanViews.h - from plan entries to runtime values --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_PLANVIEWS_H
#define TGPT_RUNTIME_ENGINE_PLANVIEWS_H

#include "runtime/engine/Initializer.h"
#include "runtime/kernels/api/Kernel.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/RankGrid.h"

#include <functional>

namespace tgpt::runtime {

/// The kernel dtype of a checked plan dtype.
DType dtypeOf(plan::DType dtype);

/// A checked buffer at an address.
TensorView viewOf(const plan::Buffer &buffer, void *address);

/// Whether a region holds what outlives a step: parameters, gradients, optimizer state.
inline bool isPersistent(const plan::Region &region) {
  return region.kind() == plan::Region::PARAMETERS || region.kind() == plan::Region::GRADIENTS ||
         region.kind() == plan::Region::OPTIMIZER;
}

/// Address of a checked buffer for a micro-batch.
std::byte *addressOf(const plan::StageProgram &stage, uint32_t buffer, SlotAndPages held, std::byte *arena);

/// An instruction's attributes; `indexAlong` resolves the axes of an axis offset.
Attributes attributesOf(const plan::Instruction &instruction,
                        const std::function<int64_t(const plan::AxisOffset &)> &indexAlong);

/// The elements of a variable that a rank of the stage holds; `arena` is the rank's.
ShardRun runOf(const plan::Variable &variable, const plan::StageProgram &stage, const RankGrid &grid, int64_t rank,
               std::byte *arena);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_PLANVIEWS_H
