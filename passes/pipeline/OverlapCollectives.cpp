//===- OverlapCollectives.cpp - start collectives early and wait for them late ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can run while a collective does? Whatever its operand does not need and that does
// not need its result:
//
//   %dx = tgpt.linear_dgrad           %dx = tgpt.linear_dgrad
//   %dw = tgpt.linear_wgrad     ->    %1 = dist.all_reduce sum %dx ... to !dist.pending<...>
//   %1 = dist.all_reduce sum %dx      %dw = tgpt.linear_wgrad
//   tgpt.rms_norm_grad %1             %2 = dist.wait %1
//                                     tgpt.rms_norm_grad %2
//
// Relies on: segments (dist-split-stages); the order within a segment is free where
// nothing depends on it (SegmentOrder.h). Leaves true: the same ops on the same values,
// so the same bits.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/SegmentOrder.h"

namespace tgpt {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

struct OverlapCounts {
  int64_t started = 0, acrossStages = 0, ofOneRank = 0, withoutWork = 0;
};

/// Overlaps the collectives of one segment.
class SegmentOverlap {
public:
  SegmentOverlap(dist::SegmentOp segment, const SegmentOrder::Buckets &buckets, int64_t window, int64_t prefetch,
                 OverlapCounts &counts)
      : segment(segment), block(segment.getBody().front()), buckets(buckets), window(window), prefetch(prefetch),
        counts(counts) {}

  void run() {
    split();
    if (flights.empty())
      return;
    SegmentOrder order(block, buckets);
    for (Flight &flight : flights)
      startEarly(flight, order);
    for (Flight &flight : llvm::reverse(flights))
      waitLate(flight, order);
    order.apply();
    joinIdle();
  }

private:
  struct Flight {
    Operation *collective;
    dist::WaitOp wait;
  };

  void split();
  void startEarly(Flight &flight, SegmentOrder &order);
  void waitLate(Flight &flight, SegmentOrder &order);
  bool isSent(Value value);
  bool hasWork(const Flight &flight);
  void joinIdle();

  dist::SegmentOp segment;
  Block &block;
  const SegmentOrder::Buckets &buckets;
  int64_t window, prefetch;
  OverlapCounts &counts;
  SmallVector<Flight> flights;
  /// By stream, waits of the collectives so far that depend on no computation.
  SmallVector<Operation *> fetched[2];
};

} // namespace

/// Makes start and wait, side by side, of all collectives that may be started.
void SegmentOverlap::split() {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!op.hasTrait<dist::Communicates>() || isa<dist::PendingType>(op.getResult(0).getType()))
      continue;
    auto names = op.getAttrOfType<ArrayAttr>("axes").getAsValueRange<StringAttr>();
    SmallVector<StringRef> axes(names.begin(), names.end());
    if (dist::meshOf(&op).sizeOf(axes) == 1) {
      ++counts.ofOneRank;
      continue;
    }
    if (llvm::is_contained(axes, "pp")) {
      ++counts.acrossStages;
      continue;
    }
    Value result = op.getResult(0);
    auto tensor = cast<RankedTensorType>(result.getType());
    result.setType(dist::PendingType::get(op.getContext(), tensor));
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(&op);
    auto wait = dist::WaitOp::create(builder, op.getLoc(), tensor, result);
    result.replaceAllUsesExcept(wait.getOutput(), wait);
    flights.push_back({&op, wait});
  }
}

/// As early as the operand allows, but for fetches, which could all begin at once: of
/// these, `prefetch` are ahead of their use.
void SegmentOverlap::startEarly(Flight &flight, SegmentOrder &order) {
  bool isFetched = isFetch(flight.collective);
  int64_t reach = isFetched ? window * prefetch : window;
  int64_t first = std::max<int64_t>(order.positionOf(flight.collective) - reach, 0);
  if (isFetched) {
    auto &earlier = fetched[dist::isWithinTensorGroup(flight.collective)];
    if (static_cast<int64_t>(earlier.size()) >= prefetch)
      first = std::max(first, order.positionOf(earlier[earlier.size() - prefetch]) + 1);
    earlier.push_back(flight.wait);
  }
  order.advance(flight.collective, first);
}

/// A value for another stage is not held back.
bool SegmentOverlap::isSent(Value value) {
  for (OpOperand &use : value.getUses())
    if (use.getOwner() == block.getTerminator())
      for (Operation *user : segment.getResult(use.getOperandNumber()).getUsers())
        if (isa<dist::SendRecvOp>(user))
          return true;
  return false;
}

/// Up to the first use. Where the result is only added to a state or written to it, that
/// can come later as well.
void SegmentOverlap::waitLate(Flight &flight, SegmentOrder &order) {
  Value result = flight.wait.getOutput();
  if (isSent(result))
    return;
  SmallVector<Operation *> users(result.getUsers());
  bool isStored = !users.empty() && llvm::all_of(users, [&](Operation *user) {
    return user->getBlock() == &block && user != block.getTerminator() && user->getNumResults() == 0;
  });
  if (isStored) {
    llvm::sort(users, [&](Operation *a, Operation *b) { return order.positionOf(a) > order.positionOf(b); });
    for (Operation *user : users)
      order.postpone(user, window);
  }
  order.postpone(flight.wait, isStored ? order.getOps().size() : window);
}

/// Computation between start and wait.
bool SegmentOverlap::hasWork(const Flight &flight) {
  for (Operation *op = flight.collective->getNextNode(); op != flight.wait; op = op->getNextNode())
    if (auto cost = dyn_cast<CostOpInterface>(op); cost && isa<KernelOpInterface>(op) && cost.getFlops() > 0)
      return true;
  return false;
}

/// Collectives that nothing runs beside are whole again.
void SegmentOverlap::joinIdle() {
  for (Flight &flight : flights) {
    if (hasWork(flight)) {
      ++counts.started;
      continue;
    }
    ++counts.withoutWork;
    Value result = flight.collective->getResult(0);
    result.setType(flight.wait.getOutput().getType());
    flight.wait.getOutput().replaceAllUsesWith(result);
    flight.wait.erase();
  }
}

namespace {

struct OverlapCollectives : tgpt::impl::OverlapCollectivesBase<OverlapCollectives> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (window < 1 || prefetch < 1) {
      module.emitError() << "option '" << (window < 1 ? "window" : "prefetch") << "' is "
                         << (window < 1 ? window : prefetch).getValue() << ", expected at least 1";
      return signalPassFailure();
    }
    if (module.getOps<dist::MeshOp>().empty()) {
      module.emitError("has no dist.mesh");
      return signalPassFailure();
    }
    SegmentOrder::Buckets buckets = SegmentOrder::bucketsOf(module);
    OverlapCounts counts;
    for (auto function : module.getOps<func::FuncOp>())
      for (auto segment : function.getOps<dist::SegmentOp>())
        SegmentOverlap(segment, buckets, window, prefetch, counts).run();
    started += counts.started;
    acrossStages += counts.acrossStages;
    ofOneRank += counts.ofOneRank;
    withoutWork += counts.withoutWork;
  }
};

} // namespace
