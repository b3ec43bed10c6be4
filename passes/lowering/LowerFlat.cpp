//===- LowerFlat.cpp - tensors that lie side by side in one buffer ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dist.pack and dist.unpack move nothing: operands are computed in their part of the
// flat buffer where nothing else needs them, and results are parts of it.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"

using namespace mlir;
using namespace tgpt;
using planir::CostAttr;

/// The part of a flat buffer that the result is packed into, when that is all that
/// happens to it.
StageBuffer *StageLowering::partFor(Operation *op, unsigned i) {
  Value result = op->getResult(i);
  auto pack = dyn_cast_or_null<dist::PackOp>(flow.factsOf(result).onlyUser);
  if (!pack || pack->getBlock() != op->getBlock())
    return nullptr;
  StageBuffer &flat = flatFor(pack);
  auto operand = llvm::find(pack.getInputs(), result);
  int64_t offset = pack.getOffsets()[operand - pack.getInputs().begin()];
  valueNumbers[result] = numberOf(pack.getOutput());
  return &buffers.createPart(op->getLoc(), nameFor(op, i),
                             planir::BufferType::of(cast<RankedTensorType>(result.getType())), flat, offset);
}

/// The buffer of a pack's result, made for the first of its operands.
StageBuffer &StageLowering::flatFor(dist::PackOp pack) {
  StageBuffer *&flat = flatOfPack[pack];
  if (!flat)
    flat = &buffers.create(pack.getLoc(), prefix + ".pack",
                           planir::BufferType::of(cast<RankedTensorType>(pack.getOutput().getType())),
                           planir::MemoryKind::Scratch);
  return *flat;
}

/// Operands that were not computed in their place are copied there; the rest is cleared.
void StageLowering::lowerPack(dist::PackOp op) {
  StageBuffer &flat = flatFor(op);
  int64_t end = 0, number = numberOf(op.getOutput());
  dist::LayoutAttr layout = dist::layoutOf(op.getOutput());
  Attribute gapLayout =
      dist::LayoutAttr::get(op.getContext(), dist::LayoutAttr::Axes(), layout.partialAxes(), layout.getReduction());
  auto clearUpTo = [&](int64_t begin) {
    if (begin == end)
      return;
    auto type = planir::BufferType::get(op.getContext(), {begin - end}, flat.type().getElementType());
    StageBuffer &gap = buffers.createPart(op.getLoc(), prefix + ".padding", type, flat, end);
    auto fill = writeKernel(op.getLoc(), "fill", {}, gap.value(),
                            builder.getDictionaryAttr({builder.getNamedAttr("value", builder.getF64FloatAttr(0.0))}),
                            CostAttr::get(op.getContext(), 0, 0, type.getBytes()));
    setOperandFacts(fill, gapLayout, number);
  };
  for (auto [operand, offset] : llvm::zip_equal(op.getInputs(), op.getOffsets())) {
    clearUpTo(offset);
    StageBuffer *made = buffers.find(operand);
    if (made->whole != &flat) {
      StageBuffer &part = buffers.createPart(op.getLoc(), nameFor(op, 0), made->type(), flat, offset);
      Attribute facts = layoutOnStage(operand);
      setOperandFacts(writeCopy(op.getLoc(), *made, part), {facts, facts}, {numberOf(operand), number});
    }
    end = offset + cast<RankedTensorType>(operand.getType()).getNumElements();
  }
  clearUpTo(flat.type().getBytes() / flat.type().getElementBytes());
  buffers.bind(op.getOutput(), flat);
}

/// Results are parts of the operand.
void StageLowering::lowerUnpack(dist::UnpackOp op) {
  StageBuffer &flat = *buffers.find(op.getInput());
  flat.storage().hasTwins = true;
  for (auto [i, result, offset] : llvm::enumerate(op.getResults(), op.getOffsets())) {
    const DeclaredVariable *member = nullptr;
    for (const DeclaredVariable &variable : parts.variables)
      if (flat.named() && variable.bucket == flat.named() && variable.offset == offset)
        member = &variable;
    std::string name = member ? member->name.str() + ".gathered" : nameFor(op, i);
    StageBuffer &part = buffers.createPart(
        op.getLoc(), name, planir::BufferType::of(cast<RankedTensorType>(result.getType())), flat, offset);
    part.gathered = member;
    buffers.bind(result, part);
    valueNumbers[result] = numberOf(op.getInput());
  }
}
