//===- InstructionEmitter.h - one instruction to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_EMIT_INSTRUCTIONEMITTER_H
#define TGPT_COMPILER_EMIT_INSTRUCTIONEMITTER_H

#include "compiler/emit/StageEmitter.h"

namespace tgpt {

/// Writes instructions of one stage: operands, scalars, cost, layouts and the model line. Decides nothing.
class InstructionEmitter {
public:
  /// `buffers`: the plan's index of each buffer of the stage.
  InstructionEmitter(const llvm::DenseMap<mlir::Value, uint32_t> &buffers, PlanIndices &indices, plan::Plan &plan)
      : buffers(buffers), indices(indices), plan(plan) {}

  void emit(mlir::Operation &op, plan::Instruction &instruction);

private:
  void emitOperation(mlir::Operation &op, plan::Instruction &instruction);
  void emitKernel(planir::KernelOp op, plan::Instruction &instruction);
  void emitCollective(planir::CollectiveOp op, plan::Instruction &instruction);
  void emitScalar(mlir::NamedAttribute scalar, plan::Instruction &instruction);
  void setCost(planir::CostAttr cost, plan::Instruction &instruction);
  /// A transfer reads or writes its buffer once.
  void setTransfer(mlir::Value read, mlir::Value written, plan::Instruction &instruction);
  uint32_t locationOf(mlir::Operation &op, llvm::StringRef what);
  void emitLayouts(mlir::Operation &op, plan::Instruction &instruction);
  uint32_t layoutIndexOf(dist::LayoutAttr layout);

  const llvm::DenseMap<mlir::Value, uint32_t> &buffers;
  PlanIndices &indices;
  plan::Plan &plan;
};

} // namespace tgpt

#endif // TGPT_COMPILER_EMIT_INSTRUCTIONEMITTER_H
