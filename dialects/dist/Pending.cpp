//===- Pending.cpp - collectives that have been started ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pending result ties a collective to the one dist.wait that ends it. Labels are
// those of dist.wait.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt::dist;

RankedTensorType tgpt::dist::tensorOf(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    return pending.getTensor();
  return dyn_cast<RankedTensorType>(type);
}

WaitOp tgpt::dist::waitOf(Operation *collective) {
  Value result = collective->getResult(0);
  return isa<PendingType>(result.getType()) && result.hasOneUse() ? dyn_cast<WaitOp>(*result.user_begin()) : WaitOp();
}

bool tgpt::dist::isWithinTensorGroup(Operation *collective) {
  auto axes = collective->getAttrOfType<ArrayAttr>("axes");
  return llvm::none_of(axes.getAsValueRange<StringAttr>(),
                       [](StringRef axis) { return axis == "dp" || axis == "dp_replica" || axis == "pp"; });
}

static bool isStarted(Operation *collective) {
  return isa<PendingType>(collective->getResult(0).getType());
}

LogicalResult tgpt::dist::verifyPending(Operation *op) {
  if (op->getNumResults() != 1 || !isStarted(op))
    return success();
  if (auto axes = op->getAttrOfType<ArrayAttr>("axes")) // C2
    if (llvm::is_contained(axes.getAsValueRange<StringAttr>(), "pp"))
      return op->emitOpError() << "runs over \"pp\" and cannot be started: stages differ in what they run beside it";
  Value result = op->getResult(0);
  if (!result.hasOneUse()) // C1
    return op->emitOpError() << "is started and waited for " << std::distance(result.use_begin(), result.use_end())
                             << " times; a pending value has one use, a dist.wait";
  Operation *user = *result.user_begin();
  InFlightDiagnostic error = op->emitOpError();
  if (!isa<WaitOp>(user))
    error << "is started, but '" << user->getName() << "' takes the pending value; only dist.wait does";
  else if (user->getBlock() != op->getBlock())
    error << "is started in one block and waited for in another";
  else {
    error.abandon();
    return success();
  }
  error.attachNote(user->getLoc()) << "used here";
  return error;
}

LogicalResult WaitOp::verify() { // C1
  Operation *producer = getPending().getDefiningOp();
  if (producer && producer->hasTrait<Communicates>())
    return success();
  return emitOpError("operand does not come from a collective");
}

//===----------------------------------------------------------------------===//
// Memory effects
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void addEffects(Operation *collective, Effects &effects) {
  if (isStarted(collective))
    effects.emplace_back(MemoryEffects::Write::get());
}

void AllGatherOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}

void ReduceScatterOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}

void AllToAllOp::getEffects(Effects &effects) {
  addEffects(*this, effects);
}
