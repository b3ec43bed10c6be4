//===- StageEmitter.h - one stage to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_EMIT_STAGEEMITTER_H
#define TGPT_COMPILER_EMIT_STAGEEMITTER_H

#include "dialects/plan/Plan.h"
#include "runtime/plan/plan.pb.h"
#include "llvm/ADT/StringMap.h"

namespace tgpt {

/// Indices that stages share: groups and channels by name, locations by text, layouts.
struct PlanIndices {
  llvm::StringMap<uint32_t> groups;
  llvm::StringMap<uint32_t> channels;
  llvm::StringMap<uint32_t> locations;
  llvm::DenseMap<mlir::Attribute, uint32_t> layouts;
};

/// Appends `stage` to the plan; `indices` has its groups and channels, and gains its
/// locations and layouts.
mlir::LogicalResult emitStage(planir::StageOp stage, PlanIndices &indices, plan::Plan &plan);

} // namespace tgpt

#endif // TGPT_COMPILER_EMIT_STAGEEMITTER_H
