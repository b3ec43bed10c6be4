//===- Plan.h - the plan dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The namespace is planir: tgpt::plan holds the protobuf messages that the ops
// mirror.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_PLAN_PLAN_H
#define TGPT_DIALECTS_PLAN_PLAN_H

#include "dialects/dist/Dist.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.h.inc"

namespace tgpt::planir {
class RegionOp;
class ScheduleOp;

/// Grain of the arena: offsets and sizes of regions are multiples of it.
inline constexpr int64_t regionGrainBytes = 64;

/// Attributes of an instruction, for the checker of plans: layouts (without global
/// shapes) and numbers of the values that it reads, then of those that it makes. Absent
/// where the program has no layouts.
inline constexpr llvm::StringLiteral layoutsName = "plan.layouts";
inline constexpr llvm::StringLiteral valuesName = "plan.values";
} // namespace tgpt::planir

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"

namespace tgpt::planir {

/// Checks that what is started in a segment is waited for there, and left alone meanwhile.
llvm::LogicalResult verifyFlights(SegmentOp segment);
/// Checks that regions lie side by side, and that the last one ends with the arena.
llvm::LogicalResult verifyArena(StageOp stage, int64_t arenaBytes);
/// The stage around an op within it.
StageOp stageOf(mlir::Operation *op);
/// "forward" for chunk 0, "forward.1" for chunk 1.
std::string segmentNameOf(SegmentKind kind, int64_t chunk);
/// The channels that a segment's instructions receive from and send to, in their order.
struct SegmentChannels {
  mlir::ArrayAttr receives, sends;
  static SegmentChannels of(SegmentOp segment);
};
/// The region in which variables of this role live.
MemoryKind regionOf(VariableRole role);
/// Whether micro-batches take the slots of such a region in turn, those of all chunks of a stage the same ones.
inline bool isPaged(MemoryKind kind) {
  return kind == MemoryKind::Pages || kind == MemoryKind::Leaves;
}
/// Whether what lies there belongs to a micro-batch, from one segment to another.
inline bool isOfMicroBatch(MemoryKind kind) {
  return kind == MemoryKind::Activations || isPaged(kind);
}
/// Whether a region holds nothing at the begin and at the end of a segment that runs once a step.
inline bool isEmptyBetweenSteps(MemoryKind kind) {
  return isOfMicroBatch(kind) || kind == MemoryKind::Scratch || kind == MemoryKind::Step;
}
/// The shape that `kind` makes of `input` within a group of `members`; failure
/// with a message where the dims are missing, out of range or do not divide.
llvm::FailureOr<llvm::SmallVector<int64_t>> collectiveShape(CollectiveOp op, int64_t members);

} // namespace tgpt::planir

#endif // TGPT_DIALECTS_PLAN_PLAN_H
