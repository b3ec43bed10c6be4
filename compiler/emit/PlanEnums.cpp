//===- PlanEnums.cpp - enums of the plan dialect in plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/PlanEnums.h"

using namespace mlir;
using namespace tgpt;

plan::DType tgpt::dtypeOf(Type elementType) {
  if (elementType.isF64())
    return plan::F64;
  if (elementType.isF32())
    return plan::F32;
  if (elementType.isBF16())
    return plan::BF16;
  if (elementType.isF16())
    return plan::F16;
  return elementType.isInteger(32) ? plan::I32 : plan::DTYPE_UNSPECIFIED;
}

plan::Region::Kind tgpt::kindOf(planir::MemoryKind kind) {
  switch (kind) {
  case planir::MemoryKind::Parameters: return plan::Region::PARAMETERS;
  case planir::MemoryKind::Gradients: return plan::Region::GRADIENTS;
  case planir::MemoryKind::Optimizer: return plan::Region::OPTIMIZER;
  case planir::MemoryKind::Activations: return plan::Region::ACTIVATIONS;
  case planir::MemoryKind::Scratch: return plan::Region::SCRATCH;
  case planir::MemoryKind::Communication: return plan::Region::COMMUNICATION;
  case planir::MemoryKind::Pages: return plan::Region::PAGES;
  case planir::MemoryKind::Step: return plan::Region::STEP;
  case planir::MemoryKind::Leaves: return plan::Region::LEAVES;
  case planir::MemoryKind::Workspace: return plan::Region::WORKSPACE;
  }
  llvm_unreachable("a kind of the enum");
}

plan::Variable::Role tgpt::roleOf(planir::VariableRole role) {
  switch (role) {
  case planir::VariableRole::Parameter: return plan::Variable::PARAMETER;
  case planir::VariableRole::Master: return plan::Variable::MASTER;
  case planir::VariableRole::Moment1: return plan::Variable::MOMENT1;
  case planir::VariableRole::Moment2: return plan::Variable::MOMENT2;
  case planir::VariableRole::Gradient: return plan::Variable::GRADIENT;
  case planir::VariableRole::Metric: return plan::Variable::METRIC;
  case planir::VariableRole::Scaling: return plan::Variable::SCALING;
  }
  llvm_unreachable("a role of the enum");
}

plan::Segment::Kind tgpt::kindOf(planir::SegmentKind kind) {
  switch (kind) {
  case planir::SegmentKind::Begin: return plan::Segment::BEGIN;
  case planir::SegmentKind::Forward: return plan::Segment::FORWARD;
  case planir::SegmentKind::Backward: return plan::Segment::BACKWARD;
  case planir::SegmentKind::Update: return plan::Segment::UPDATE;
  case planir::SegmentKind::WeightGradient: return plan::Segment::WEIGHT_GRADIENT;
  }
  llvm_unreachable("a kind of the enum");
}

plan::Instruction::Stream tgpt::streamOf(planir::Stream stream) {
  switch (stream) {
  case planir::Stream::Compute: return plan::Instruction::COMPUTE;
  case planir::Stream::Tensor: return plan::Instruction::TENSOR;
  case planir::Stream::Data: return plan::Instruction::DATA;
  }
  llvm_unreachable("a stream of the enum");
}

plan::Cost::Work tgpt::workOf(planir::Work work) {
  switch (work) {
  case planir::Work::MatrixProduct: return plan::Cost::MATRIX_PRODUCT;
  case planir::Work::Attention: return plan::Cost::ATTENTION;
  case planir::Work::Vector: break;
  }
  return plan::Cost::VECTOR;
}

plan::ScheduleEntry::Phase tgpt::phaseOf(planir::SchedulePhase phase) {
  switch (phase) {
  case planir::SchedulePhase::None: return plan::ScheduleEntry::PHASE_UNSPECIFIED;
  case planir::SchedulePhase::WarmUp: return plan::ScheduleEntry::WARM_UP;
  case planir::SchedulePhase::Steady: return plan::ScheduleEntry::STEADY;
  case planir::SchedulePhase::CoolDown: return plan::ScheduleEntry::COOL_DOWN;
  }
  llvm_unreachable("a phase of the enum");
}
