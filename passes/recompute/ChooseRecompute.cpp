//===- ChooseRecompute.cpp - decide what the backward computes again ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which results of the forward are cheaper to compute again than to keep?
//
//   %y = tgpt.gelu %x   ->   %y = tgpt.gelu %x {tgpt.recompute = true}
//
// Ops are weighed by their own knowledge (CostOpInterface, what the backward reads),
// one by one: after each choice the set of kept values is what it would then be.
//
// Relies on: a backward (tgpt-differentiate). Leaves true: only attributes changed.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/Remarks.h"
#include "passes/recompute/MicroBatch.h"
#include "passes/recompute/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_CHOOSERECOMPUTE
#include "passes/recompute/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// What must be kept for the backward, given the choices so far.
class KeptValues {
public:
  explicit KeptValues(const MicroBatch &microBatch) : kept(microBatch.keptValues()) {}

  /// Bytes of the results that are kept now.
  int64_t resultBytes(Operation *op) const {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      bytes += kept.contains(result) ? bytesOf(result.getType()) : 0;
    return bytes;
  }

  /// Bytes of what must be kept instead if `op` is computed again.
  int64_t operandBytes(Operation *op) const {
    int64_t bytes = 0;
    for (Value operand : missingOperands(op))
      bytes += bytesOf(operand.getType());
    return bytes;
  }

  void choose(Operation *op) {
    chosen.insert(op);
    for (Value operand : missingOperands(op))
      kept.insert(operand);
    for (Value result : op->getResults())
      kept.remove(result);
  }

private:
  llvm::SetVector<Value> missingOperands(Operation *op) const {
    llvm::SetVector<Value> missing;
    for (Value operand : op->getOperands())
      if (!isFree(operand) && !kept.contains(operand) && !chosen.contains(operand.getDefiningOp()))
        missing.insert(operand);
    return missing;
  }

  llvm::SetVector<Value> kept;
  llvm::SmallPtrSet<Operation *, 32> chosen;
};

/// The number of layers; the head has the highest layer of all.
int64_t countLayers(const MicroBatch &microBatch) {
  int64_t highest = 0;
  for (Operation *op : microBatch.forward)
    highest = std::max(highest, layerOf(op).value_or(0));
  return highest;
}

/// True when an op of another layer reads a result.
bool leavesItsLayer(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) { return layerOf(user) != layerOf(op); });
}

BoolAttr decisionOf(Operation *op) {
  return op->getAttrOfType<BoolAttr>(recomputeAttributeName);
}

void choose(Operation *op) {
  op->setAttr(recomputeAttributeName, BoolAttr::get(op->getContext(), true));
}

struct ChooseRecompute : tgpt::impl::ChooseRecomputeBase<ChooseRecompute> {
  using ChooseRecomputeBase::ChooseRecomputeBase;

  void runOnOperation() override {
    if (!(flopsPerByte >= 0)) {
      getOperation().emitError() << "option 'flops-per-byte' is " << double(flopsPerByte) << ", expected at least 0";
      return signalPassFailure();
    }
    FailureOr<MicroBatch> microBatch = MicroBatch::of(getOperation());
    if (failed(microBatch))
      return signalPassFailure();
    chosen = withoutGain = tooCostly = 0;
    if (mode == RecomputeMode::Full)
      chooseAll(*microBatch);
    if (mode == RecomputeMode::Selective)
      chooseCheap(*microBatch);
    report();
  }

  /// The ops of the layers that may be chosen.
  SmallVector<Operation *> candidates(const MicroBatch &microBatch) {
    int64_t layers = countLayers(microBatch);
    return llvm::filter_to_vector(microBatch.forward, [&](Operation *op) {
      int64_t layer = layerOf(op).value_or(-1);
      return layer >= 0 && layer < layers && !decisionOf(op) && canRunTwice(op) && !leavesItsLayer(op);
    });
  }

  void chooseAll(const MicroBatch &microBatch) {
    for (Operation *op : candidates(microBatch)) {
      choose(op);
      ++chosen;
    }
  }

  void chooseCheap(const MicroBatch &microBatch) {
    KeptValues kept(microBatch);
    for (Operation *op : microBatch.forward)
      if (BoolAttr decision = decisionOf(op); decision && decision.getValue())
        kept.choose(op);
    for (Operation *op : candidates(microBatch)) {
      if (!isWorthIt(op, kept))
        continue;
      kept.choose(op);
      choose(op);
      ++chosen;
    }
  }

  bool isWorthIt(Operation *op, const KeptValues &kept) {
    int64_t results = kept.resultBytes(op);
    if (results == 0)
      return false;
    int64_t freed = results - kept.operandBytes(op);
    if (freed <= 0) {
      ++withoutGain;
      return false;
    }
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (differentiable && differentiable.isWorthRecomputing())
      return true;
    auto cost = dyn_cast<CostOpInterface>(op);
    bool isCheap = cost && static_cast<double>(cost.getFlops()) <= flopsPerByte * static_cast<double>(freed);
    tooCostly += !isCheap;
    return isCheap;
  }

  void report() {
    numChosen += chosen;
    numWithoutGain += withoutGain;
    numTooCostly += tooCostly;
    auto name = remark::RemarkOpts::name("micro-batch").category("tgpt-choose-recompute");
    remark::analysis(getOperation().getLoc(), name)
        << remark::metric("opsChosen", chosen) << remark::metric("opsWithoutGain", withoutGain)
        << remark::metric("opsTooCostly", tooCostly);
  }

  int64_t chosen = 0, withoutGain = 0, tooCostly = 0;
};

} // namespace
