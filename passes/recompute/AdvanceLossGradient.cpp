//===- AdvanceLossGradient.cpp - begin the backward in the forward ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops of the backward need not wait for it? The gradient of the loss is known as soon
// as the loss is: it starts from a constant, or from the loss scale.
//
//   %loss, %n, %lse = tgpt.cross_entropy %x, ...      %one = tgpt.fill 1
//   tgpt.begin_backward                               %loss, %n, %lse = tgpt.cross_entropy %x, ...
//   %one = tgpt.fill 1                           ->   %dx = tgpt.cross_entropy_grad %x, ..., %lse, %one
//   %dx = tgpt.cross_entropy_grad %x, ..., %lse, %one tgpt.begin_backward
//
// Then the two stand in one segment, where a device takes them together, and %lse is not
// kept. An op moves when the forward has all that it reads, and its results take over the
// bytes of operands that nothing else of the backward reads: so what is kept does not grow.
//
// Relies on: a backward; decisions to recompute carried out (what is computed again in the
// backward is not the forward's); no state that the micro-batch reads is changed in it, as
// dist-split-stages insists. Leaves true: the same ops on the same values, in their layers.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "passes/recompute/MicroBatch.h"
#include "passes/recompute/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_ADVANCELOSSGRADIENT
#include "passes/recompute/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// The forward, and what of the backward joins it.
class GrowingForward {
public:
  explicit GrowingForward(ArrayRef<Operation *> ops) : ops(ops.begin(), ops.end()) {}

  /// Whether the forward has all that `op` reads; what is computed again was put behind it on purpose.
  bool hasOperandsOf(Operation *op) const {
    bool isComputed = canRunTwice(op) && op->getNumOperands() > 0 && !op->hasAttr(recomputedAttributeName);
    return isComputed && isa<KernelOpInterface>(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand) || makes(operand); });
  }

  /// Whether no more is kept, and no stage needs a value of a later one, with `op` here.
  bool mayTake(KernelOpInterface op) const {
    bool keepsNoMore = llvm::all_of(op->getResults(), [&](OpResult result) { return bool(overwrittenBy(result)); });
    return keepsNoMore && llvm::all_of(op->getOperands(), [&](Value operand) {
             return isFree(operand) || layerOf(operand.getDefiningOp()) <= layerOf(op);
           });
  }

  /// Moves it right behind what must come before it, and what it reads from nothing before that: so between the two
  /// there is nothing.
  void take(KernelOpInterface op) {
    Operation *last = lastBefore(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && isFree(operand) && last->isBeforeInBlock(maker))
        maker->moveBefore(last);
    op->moveAfter(last);
    ops.insert(op);
  }

private:
  bool makes(Value value) const { return ops.contains(value.getDefiningOp()); }

  /// The value of the forward whose bytes the result takes over; null where it needs bytes of its own.
  Value overwrittenBy(OpResult result) const {
    auto op = cast<KernelOpInterface>(result.getOwner());
    std::optional<unsigned> index = op.getInPlaceOperand(result.getResultNumber());
    Value operand = index ? op->getOperand(*index) : Value();
    if (!operand || isFree(operand) || operand.getType() != result.getType() ||
        llvm::count(op->getOperands(), operand) != 1)
      return {};
    bool isReadLater =
        llvm::any_of(operand.getUsers(), [&](Operation *user) { return user != op && !ops.contains(user); });
    return isReadLater ? Value() : operand;
  }

  /// The last op that makes an operand, or reads one that is overwritten.
  Operation *lastBefore(KernelOpInterface op) const {
    SmallVector<Operation *> earlier;
    for (Value operand : op->getOperands())
      if (!isFree(operand))
        earlier.push_back(operand.getDefiningOp());
    for (OpResult result : op->getResults())
      for (Operation *user : overwrittenBy(result).getUsers())
        if (user != op)
          earlier.push_back(user);
    return *llvm::max_element(earlier, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  llvm::SmallPtrSet<Operation *, 32> ops;
};

struct AdvanceLossGradientPass : tgpt::impl::AdvanceLossGradientBase<AdvanceLossGradientPass> {
  void runOnOperation() override {
    FailureOr<MicroBatch> microBatch = MicroBatch::of(getOperation());
    if (failed(microBatch))
      return signalPassFailure();
    int64_t before = microBatch->keptBytes();
    GrowingForward forward(microBatch->forward);
    for (Operation *op : microBatch->backward) {
      if (!forward.hasOperandsOf(op))
        continue;
      bool mayMove = forward.mayTake(cast<KernelOpInterface>(op));
      (mayMove ? numAdvanced : numDeclined) += 1;
      if (mayMove)
        forward.take(cast<KernelOpInterface>(op));
    }
    bytesFreed += before - MicroBatch::of(getOperation())->keptBytes();
  }
};

} // namespace
