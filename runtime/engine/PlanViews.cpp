//===- PlanViews.cpp - from plan entries to runtime values ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything here relies on a plan that checkPlan accepted.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/PlanViews.h"
#include "runtime/plan/LogicalVariable.h"

using namespace tgpt;
using namespace tgpt::runtime;

DType tgpt::runtime::dtypeOf(plan::DType dtype) {
  switch (dtype) {
  case plan::F64: return DType::F64;
  case plan::BF16: return DType::BF16;
  case plan::F16: return DType::F16;
  case plan::I32: return DType::I32;
  default: return DType::F32;
  }
}

TensorView tgpt::runtime::viewOf(const plan::Buffer &buffer, void *address) {
  TensorView view;
  view.data = address;
  view.dtype = dtypeOf(buffer.dtype());
  view.rank = static_cast<uint8_t>(buffer.shape_size());
  for (int i = 0; i < buffer.shape_size(); ++i)
    view.shape[i] = buffer.shape(i);
  return view;
}

std::byte *tgpt::runtime::addressOf(const plan::StageProgram &stage, uint32_t buffer, SlotAndPages held,
                                    std::byte *arena) {
  const plan::Buffer &placed = stage.buffers(static_cast<int>(buffer));
  const plan::Region &region = stage.regions(static_cast<int>(placed.region()));
  return arena + region.offset_bytes() + placeOf(region, slotOf(region.kind(), held)) + placed.offset_bytes();
}

Attributes tgpt::runtime::attributesOf(const plan::Instruction &instruction,
                                       const std::function<int64_t(const plan::AxisOffset &)> &indexAlong) {
  Attributes attributes;
  for (const plan::Attribute &attribute : instruction.attributes()) {
    if (attribute.has_i())
      attributes.set(attribute.name(), static_cast<int64_t>(attribute.i()));
    else if (attribute.has_f())
      attributes.set(attribute.name(), attribute.f());
    else
      attributes.set(attribute.name(), attribute.s());
  }
  for (const plan::AxisOffset &offset : instruction.axis_offsets())
    attributes.set(offset.name(), static_cast<int64_t>(offset.stride() * indexAlong(offset)));
  return attributes;
}

/// Narrows a run of a whole shard to what lies in this rank's piece of the flat tensor.
static void cutToPiece(ShardRun &run, const plan::FlatPart &flat, const TensorView &piece, const RankGrid &grid,
                       int64_t rank) {
  int64_t elements = 1;
  for (int i = 0; i < run.rank; ++i)
    elements *= run.shape[i];
  int64_t pieceBegin = grid.indexAlong(rank, flat.axes()) * piece.elements();
  int64_t begin = std::max(flat.first_element(), pieceBegin);
  int64_t end = std::min(flat.first_element() + elements, pieceBegin + piece.elements());
  run.first = begin - flat.first_element();
  run.elements = piece;
  run.elements.rank = 1;
  run.elements.shape[0] = std::max<int64_t>(end - begin, 0);
  if (end > begin)
    run.elements.data = piece.as<std::byte>() + (begin - pieceBegin) * sizeInBytes(piece.dtype);
}

ShardRun tgpt::runtime::runOf(const plan::Variable &variable, const plan::StageProgram &stage, const RankGrid &grid,
                              int64_t rank, std::byte *arena) {
  TensorView local =
      viewOf(stage.buffers(static_cast<int>(variable.buffer())), addressOf(stage, variable.buffer(), {}, arena));
  ShardRun run;
  run.rank = variable.global_shape_size();
  for (int i = 0; i < run.rank; ++i) {
    const auto &axes = variable.dims(i).axes();
    run.shard.globalShape[i] = logicalSize(variable, i);
    run.shape[i] = variable.global_shape(i) / grid.sizeOf(axes);
    run.shard.start[i] = windowStart(variable, i) + grid.indexAlong(rank, axes) * run.shape[i];
  }
  run.elements = local;
  run.elements.rank = 1;
  run.elements.shape[0] = local.elements();
  if (variable.has_flat())
    cutToPiece(run, variable.flat(), local, grid, rank);
  return run;
}
