//===- PlaceResults.cpp - where the results of a kernel go ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In order of preference: added to an accumulator (its value is never stored), into
// the variable it will be written to, over an operand that nobody needs any more,
// into a buffer of its own. All of them leave every other value as it was: a buffer
// is only overwritten when no value in it has a later use.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"

using namespace mlir;
using namespace tgpt;
using Events = StageFlow::Events;

StageBuffer &StageLowering::placeResult(KernelOpInterface op, unsigned i, int64_t &accumulated) {
  OpResult result = op->getResult(i);
  if (StageBuffer *accumulator = accumulatorFor(op, i)) {
    accumulated |= int64_t(1) << i;
    ++counts.fusedAccumulations;
    return *accumulator;
  }
  StageBuffer *buffer = variableFor(op, i);
  if (buffer)
    ++counts.inPlaceVariables;
  else if ((buffer = partFor(op, i)))
    ++counts.packedResults;
  else if ((buffer = deadOperandFor(op, i)))
    ++counts.inPlaceResults;
  else
    buffer =
        &buffers.create(op.getLoc(), nameFor(op, i), planir::BufferType::of(cast<RankedTensorType>(result.getType())),
                        planir::MemoryKind::Scratch);
  buffers.bind(result, *buffer);
  return *buffer;
}

bool StageLowering::isOperandOnce(Operation *op, StageBuffer *buffer) {
  return llvm::count_if(op->getOperands(), [&](Value operand) { return shareBytes(buffers.find(operand), buffer); }) ==
         1;
}

bool StageLowering::isTaken(StageBuffer *buffer) {
  return llvm::any_of(takenByThisKernel, [&](StageBuffer *taken) { return shareBytes(taken, buffer); });
}

/// The state that the result is added to, when that is all that happens to it.
StageBuffer *StageLowering::accumulatorFor(KernelOpInterface op, unsigned i) {
  auto accumulate = dyn_cast_or_null<AccumulateOp>(flow.factsOf(op->getResult(i)).onlyUser);
  if (!accumulate || accumulate.getCarries() || !op.canAccumulate(i) || accumulate->getBlock() != op->getBlock())
    return nullptr;
  StageBuffer *buffer = &buffers.ofVariable(accumulate.getSymbol());
  int64_t then = flow.positionOf(accumulate);
  // Neither the op nor anything up to the accumulation may see the sum early.
  bool isSeen =
      llvm::any_of(op->getOperands(), [&](Value operand) { return shareBytes(buffers.find(operand), buffer); });
  if (isSeen || isTaken(buffer) || flow.hasEvent(accumulate.getSymbol(), position, then, Events::Reads) ||
      buffer->storage().lastUse > position)
    return nullptr;
  done.insert(accumulate);
  return buffer;
}

/// The variable that the result is written to later in the segment, when its old value
/// has no use from here on (but for the operand it replaces, if the kernel allows it).
StageBuffer *StageLowering::variableFor(Operation *op, unsigned i) {
  dist::WaitOp wait = dist::waitOf(op);
  Value result = wait ? wait.getOutput() : Value(op->getResult(i));
  for (Operation *user : result.getUsers()) {
    auto write = dyn_cast<WriteOp>(user);
    if (!write || write->getBlock() != op->getBlock())
      continue;
    StageBuffer *buffer = &buffers.ofVariable(write.getSymbol());
    int64_t then = flow.positionOf(write), last = flow.factsOf(result).lastUse, used = buffer->storage().lastUse;
    auto kernel = dyn_cast<KernelOpInterface>(op);
    std::optional<unsigned> operand = kernel ? kernel.getInPlaceOperand(i) : std::nullopt;
    bool isReplaced = operand && buffers.find(op->getOperand(*operand)) == buffer && isOperandOnce(op, buffer);
    bool isFree = used < position || (isReplaced && used == position);
    if (isFree && !isTaken(buffer) && !flow.hasEvent(write.getSymbol(), position, then, Events::Any) &&
        !flow.hasEvent(write.getSymbol(), then, last, Events::Writes))
      return buffer;
  }
  return nullptr;
}

/// The operand that the kernel may overwrite, when this is its last use.
StageBuffer *StageLowering::deadOperandFor(KernelOpInterface op, unsigned i) {
  std::optional<unsigned> operand = op.getInPlaceOperand(i);
  if (!operand)
    return nullptr;
  StageBuffer *buffer = buffers.find(op->getOperand(*operand));
  auto type = planir::BufferType::of(cast<RankedTensorType>(op->getResult(i).getType()));
  bool isFree = !buffer->variable && !buffer->whole && buffer->lastUse <= position && buffer->type() == type;
  return isFree && isOperandOnce(op, buffer) && !isTaken(buffer) ? buffer : nullptr;
}

/// Up to where a collective uses its operand: its own place, or that of its wait.
static int64_t endOf(Operation *collective, const StageFlow &flow, int64_t position) {
  dist::WaitOp wait = dist::waitOf(collective);
  return wait ? flow.positionOf(wait) : position;
}

/// The operand of an all_reduce, when this is its last use. A transient state that
/// nobody reads again counts as dead, so gradients are summed where they are.
StageBuffer *StageLowering::inPlaceReduction(Operation *op) {
  auto reduce = dyn_cast<dist::AllReduceOp>(op);
  if (!reduce)
    return nullptr;
  StageBuffer *buffer = buffers.find(reduce.getInput());
  if (buffer->storage().lastUse > endOf(op, flow, position) ||
      (buffer->variable && buffer->whole)) // a bucket's members are reduced together
    return nullptr;
  if (dist::waitOf(op) && (buffer->storage().hasTwins || !flow.hasOperandToItself(op)))
    return nullptr;
  if (!buffer->variable) {
    ++counts.inPlaceResults;
    return buffer;
  }
  StringRef name = buffer->variable->name;
  bool isDead = buffer->variable->isTransient && segmentKind == planir::SegmentKind::Update &&
                !flow.hasEvent(name, position, std::numeric_limits<int64_t>::max(), Events::Any);
  if (!isDead)
    return nullptr;
  ++counts.inPlaceVariables;
  llvm::append_range(reducedAxes[name], reduce.getAxes().getAsValueRange<StringAttr>());
  return buffer;
}
