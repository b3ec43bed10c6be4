//===- Recompute.cpp - clone marked forward ops into the backward ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How does the backward do without a result of the forward? It computes it again:
//
//   %y = tgpt.gelu %x {tgpt.recompute = true}     %y = tgpt.gelu %x
//   tgpt.begin_backward                      ->   tgpt.begin_backward
//   %dw = tgpt.linear_wgrad %dz, %y               %y1 = tgpt.gelu %x {tgpt.recomputed}
//                                                 %dw = tgpt.linear_wgrad %dz, %y1
//
// Clones stand right before their first use, so that they live as briefly as they
// can. What keeps the bits equal is that an op's result depends on its operands and
// attributes alone, which a clone shares; attributes that name random numbers too.
//
// Relies on: decisions (`tgpt.recompute`) on forward ops, a backward. Leaves true: no
// decision is left; a layer's backward uses no result of a marked op of that layer.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/Remarks.h"
#include "passes/recompute/MicroBatch.h"
#include "passes/recompute/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/recompute/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// Clones marked ops as the backward asks for them.
class Recomputation {
public:
  explicit Recomputation(ArrayRef<Operation *> marked) : marked(marked.begin(), marked.end()) {}

  /// Makes `user` read clones where it reads results of marked ops of its layer.
  void redirect(Operation *user) {
    OpBuilder builder(user);
    for (Operation *original : missingFor(user)) {
      Operation *clone = builder.clone(*original);
      clone->removeAttr(recomputeAttributeName);
      clone->setAttr(recomputedAttributeName, builder.getUnitAttr());
      readClones(clone);
      clones[original] = clone;
    }
    readClones(user);
  }

  const llvm::DenseMap<Operation *, Operation *> &getClones() const { return clones; }

private:
  /// The marked op whose result `operand` is, if it is recomputed for `user`.
  Operation *originalOf(Value operand, Operation *user) const {
    Operation *maker = operand.getDefiningOp();
    return maker && marked.contains(maker) && layerOf(maker) == layerOf(user) ? maker : nullptr;
  }

  /// Marked ops that must be cloned before `user`, in program order.
  SmallVector<Operation *> missingFor(Operation *user) const {
    llvm::SetVector<Operation *> missing;
    SmallVector<Operation *> pending = {user};
    while (!pending.empty()) {
      Operation *next = pending.pop_back_val();
      for (Value operand : next->getOperands())
        if (Operation *original = originalOf(operand, next);
            original && !clones.contains(original) && missing.insert(original))
          pending.push_back(original);
    }
    SmallVector<Operation *> ordered = missing.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ordered;
  }

  void readClones(Operation *user) {
    for (OpOperand &operand : user->getOpOperands())
      if (Operation *original = originalOf(operand.get(), user))
        operand.set(clones.lookup(original)->getResult(cast<OpResult>(operand.get()).getResultNumber()));
  }

  llvm::SmallPtrSet<Operation *, 32> marked;
  llvm::DenseMap<Operation *, Operation *> clones;
};

struct RecomputePass : tgpt::impl::RecomputeBase<RecomputePass> {
  void runOnOperation() override {
    FailureOr<MicroBatch> microBatch = MicroBatch::of(getOperation());
    if (failed(microBatch))
      return signalPassFailure();
    FailureOr<SmallVector<Operation *>> marked = takeDecisions(*microBatch);
    if (failed(marked))
      return signalPassFailure();
    int64_t before = microBatch->keptBytes();
    Recomputation recomputation(*marked);
    for (Operation *op : microBatch->backward)
      recomputation.redirect(op);
    report(*marked, recomputation, before - microBatch->keptBytes());
  }

  /// The marked ops in program order; the marks are taken off.
  FailureOr<SmallVector<Operation *>> takeDecisions(const MicroBatch &microBatch) {
    llvm::SmallPtrSet<Operation *, 32> forward(microBatch.forward.begin(), microBatch.forward.end());
    SmallVector<Operation *> marked;
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      auto decision = op->getAttrOfType<BoolAttr>(recomputeAttributeName);
      if (!decision)
        return WalkResult::advance();
      if (!forward.contains(op))
        return op->emitError() << "is marked '" << recomputeAttributeName
                               << "' but is no op of the forward of the micro-batch";
      if (decision.getValue() && !canRunTwice(op))
        return op->emitError() << "is marked '" << recomputeAttributeName
                               << "' but cannot run twice; only ops without side effects, with results, can";
      op->removeAttr(recomputeAttributeName);
      if (decision.getValue())
        marked.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    return marked;
  }

  void report(ArrayRef<Operation *> marked, const Recomputation &recomputation, int64_t freed) {
    int64_t clones = 0, flops = 0;
    for (Operation *op : marked)
      if (recomputation.getClones().contains(op)) {
        ++clones;
        auto cost = dyn_cast<CostOpInterface>(op);
        flops += cost ? cost.getFlops() : 0;
      }
    int64_t unneeded = static_cast<int64_t>(marked.size()) - clones;
    numClones += clones;
    numUnneeded += unneeded;
    flopsRepeated += flops;
    bytesFreed += std::max<int64_t>(freed, 0);
    auto name = remark::RemarkOpts::name("micro-batch").category("tgpt-recompute");
    remark::analysis(getOperation().getLoc(), name)
        << remark::metric("opsCloned", clones) << remark::metric("opsUnneeded", unneeded)
        << remark::metric("flopsRepeated", flops) << remark::metric("bytesFreed", freed);
  }
};

} // namespace
