//===- SplitWeightGradients.cpp - let the gradients of weights wait ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What of a backward can run later, while the next stage goes on with what it waited for?
//
//   dist.segment backward stage 0 {             dist.segment backward stage 0 {
//     %dx = tgpt.linear_dgrad %dy, %w             %dx = tgpt.linear_dgrad %dy, %w
//     %dw = tgpt.linear_wgrad %dy, %x      ->     dist.yield %dx }
//     tgpt.accumulate %dw, @w.gradient          dist.segment weight_gradient stage 0 {
//     dist.yield %dx }                            %dw = tgpt.linear_wgrad %dy, %x
//                                                 tgpt.accumulate %dw, @w.gradient }
//
// Ops that give gradients of parameters say so (the trait ParameterGradient). Relies on:
// dist-split-stages. Leaves true: every op runs once a micro-batch, behind what it needs,
// and uses of a variable have the order they had.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/SegmentOrder.h"
#include "passes/pipeline/StageHomes.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {
#define GEN_PASS_DEF_SPLITWEIGHTGRADIENTS
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

/// True for ops that start from nothing: cheaper to run again than to keep.
static bool isRepeated(Operation *op) {
  return isa<ReadOp>(op) || (op->getNumOperands() == 0 && op->getNumResults() > 0 && isMemoryEffectFree(op));
}

namespace {

/// Splits one backward.
class BackwardSplit {
public:
  BackwardSplit(dist::SegmentOp backward, const SegmentOrder::Buckets &buckets)
      : backward(backward), block(backward.getBody().front()), order(block, buckets) {}

  /// False, and nothing changed, where the backward stays whole.
  bool run() {
    addWhatFollows();
    keepWhatIsYielded();
    addWhatOnlyServes();
    bool staysBusy =
        llvm::any_of(order.getOps(), [&](Operation *op) { return !moved.contains(op) && !isRepeated(op); });
    if (moved.empty() || !staysBusy)
      return false;
    build();
    return true;
  }

  int64_t countMoved() const { return moved.size(); }
  int64_t countKept() const { return keptValues; }
  int64_t getKeptBytes() const { return keptBytes; }

private:
  bool isHere(Value value) const {
    Operation *maker = value.getDefiningOp();
    return maker && maker->getBlock() == &block;
  }
  bool isYielded(Operation *op) const { return llvm::is_contained(op->getUsers(), block.getTerminator()); }

  /// Gradients of parameters, and what must come behind them.
  void addWhatFollows() {
    for (Operation *op : order.getOps())
      if (op->hasTrait<ParameterGradient>() || order.dependsOnAny(op, moved))
        moved.insert(op);
  }

  /// What is sent or kept stays in the backward, with what must come before it.
  void keepWhatIsYielded() {
    llvm::DenseSet<Operation *> staying;
    for (Operation *op : llvm::reverse(order.getOps())) {
      bool isNeeded =
          isYielded(op) || llvm::any_of(staying, [&](Operation *later) { return order.dependsOn(later, op); });
      if (moved.contains(op) && isNeeded) {
        moved.erase(op);
        staying.insert(op);
      }
    }
  }

  /// A gather, or an activation that is recomputed, goes with the ops that alone use it, unless more bytes would be
  /// kept than without. Gradients of activations stay, even on the first stage, which sends none of them on.
  void addWhatOnlyServes() {
    for (Operation *op : llvm::reverse(order.getOps())) {
      bool isMovable = !moved.contains(op) && !isRepeated(op) && !op->use_empty() &&
                       (op->hasTrait<dist::Communicates>() || op->hasAttr(recomputedAttributeName));
      bool onlyServes = isMovable && llvm::all_of(order.getOps(), [&](Operation *later) {
                          return moved.contains(later) || !order.dependsOn(later, op);
                        });
      if (onlyServes && !isYielded(op) && bytesToKeep(op->getOperands()) <= sumBytes(op->getResultTypes()))
        moved.insert(op);
    }
  }

  /// Bytes of the values that are not kept yet, were a moved op to use them.
  int64_t bytesToKeep(ValueRange values) const {
    llvm::SmallDenseSet<Value> distinct(values.begin(), values.end());
    int64_t bytes = 0;
    for (Value value : distinct) {
      bool isKept = !isHere(value) || isRepeated(value.getDefiningOp()) ||
                    llvm::any_of(value.getUsers(), [&](Operation *user) { return moved.contains(user); });
      bytes += isKept ? 0 : bytesOf(value.getType());
    }
    return bytes;
  }

  /// Values of what stays that moved ops use, in order; reads and fills are not among them.
  SmallVector<Value> findKept() const {
    llvm::SetVector<Value> kept;
    for (Operation *op : order.getOps())
      if (moved.contains(op))
        for (Value operand : op->getOperands())
          if (isHere(operand) && !moved.contains(operand.getDefiningOp()) && !isRepeated(operand.getDefiningOp()))
            kept.insert(operand);
    return kept.takeVector();
  }

  void build() {
    SmallVector<Value> kept = findKept();
    keptValues = kept.size();
    for (Value value : kept)
      keptBytes += bytesOf(value.getType());
    IRMapping results;
    dist::SegmentOp rest = yieldAlso(kept, results);
    OpBuilder builder(rest.getContext());
    builder.setInsertionPointAfter(rest);
    auto later = dist::SegmentOp::create(builder, rest.getLoc(), TypeRange(), dist::SegmentKind::WeightGradient,
                                         rest.getStage(), rest.getChunk());
    Block &body = later.getBody().emplaceBlock();
    auto inside = OpBuilder::atBlockEnd(&body);
    dist::YieldOp::create(inside, rest.getLoc(), ValueRange());
    for (Operation *op : order.getOps())
      if (moved.contains(op))
        op->moveBefore(body.getTerminator());
    for (Operation &op : body)
      for (OpOperand &operand : op.getOpOperands())
        connect(operand, body, results);
    for (Operation *op : llvm::reverse(order.getOps()))
      if (!moved.contains(op) && isRepeated(op) && op->use_empty())
        op->erase();
  }

  /// The backward with further results, in its place. `results` maps what is yielded to the segment's results.
  dist::SegmentOp yieldAlso(ArrayRef<Value> more, IRMapping &results) {
    auto yield = cast<dist::YieldOp>(block.getTerminator());
    SmallVector<Value> yielded(yield.getValues());
    for (Value value : more)
      if (!llvm::is_contained(yielded, value))
        yielded.push_back(value);
    OpBuilder builder(backward);
    auto rest = dist::SegmentOp::create(builder, backward.getLoc(), ValueRange(yielded).getTypes(), backward.getKind(),
                                        backward.getStage(), backward.getChunk());
    rest->setDiscardableAttrs(backward->getDiscardableAttrDictionary());
    rest.getBody().takeBody(backward.getBody());
    yield.getValuesMutable().assign(yielded);
    backward.replaceAllUsesWith(rest.getResults().take_front(backward.getNumResults()));
    backward.erase();
    for (auto [value, result] : llvm::zip_equal(yielded, rest.getResults()))
      results.map(value, result);
    return rest;
  }

  /// Lets a moved op use the result of the backward, or a read of its own.
  void connect(OpOperand &operand, Block &body, IRMapping &results) {
    Operation *maker = operand.get().getDefiningOp();
    if (!maker || maker->getBlock() != &block)
      return;
    if (isRepeated(maker) && !results.contains(operand.get())) {
      OpBuilder atFront(&body, atFrontOf(body));
      Operation *copy = atFront.clone(*maker);
      for (auto [old, again] : llvm::zip_equal(maker->getResults(), copy->getResults()))
        results.map(old, again);
      repeated = copy;
    }
    operand.set(results.lookup(operand.get()));
  }

  /// Behind the reads that are there already.
  Block::iterator atFrontOf(Block &body) const { return repeated ? std::next(repeated->getIterator()) : body.begin(); }

  dist::SegmentOp backward;
  Block &block;
  SegmentOrder order;
  llvm::DenseSet<Operation *> moved;
  Operation *repeated = nullptr; ///< the last op that was repeated in the new segment
  int64_t keptValues = 0, keptBytes = 0;
};

struct SplitWeightGradients : tgpt::impl::SplitWeightGradientsBase<SplitWeightGradients> {
  using SplitWeightGradientsBase::SplitWeightGradientsBase;

  void runOnOperation() override {
    func::FuncOp microBatch = findPhase(getOperation(), "micro_batch");
    if (failed(checkInput(microBatch)))
      return signalPassFailure();
    SegmentOrder::Buckets buckets = SegmentOrder::bucketsOf(getOperation());
    for (auto segment : llvm::make_early_inc_range(microBatch.getOps<dist::SegmentOp>()))
      if (segment.getKind() == dist::SegmentKind::Backward)
        split(segment, buckets);
  }

private:
  LogicalResult checkInput(func::FuncOp microBatch) {
    if (!microBatch || microBatch.isDeclaration() || microBatch.getOps<dist::SegmentOp>().empty())
      return getOperation().emitError("micro-batch has no segments to split; dist-split-stages makes them");
    for (auto segment : microBatch.getOps<dist::SegmentOp>()) {
      if (segment.getKind() == dist::SegmentKind::WeightGradient)
        return segment.emitOpError("is of kind 'weight_gradient' already");
      if (segment.getKind() == dist::SegmentKind::Backward && failed(checkBackward(segment)))
        return failure();
    }
    return success();
  }

  LogicalResult checkBackward(dist::SegmentOp backward) {
    llvm::DenseMap<StringAttr, Operation *> changes;
    for (Operation &op : backward.getBody().front())
      if (StringAttr symbol = changedSymbol(&op))
        changes.try_emplace(symbol, &op);
    for (Operation &op : backward.getBody().front()) {
      if (isa<dist::WaitOp>(op))
        return op.emitOpError("waits in a backward that is to be split; dist-overlap-collectives comes after that");
      auto read = dyn_cast<ReadOp>(op);
      Operation *change = read ? changes.lookup(read.getSymbolAttr().getAttr()) : nullptr;
      if (!change)
        continue;
      InFlightDiagnostic error = op.emitOpError() << "reads " << read.getSymbolAttr()
                                                  << ", which its segment changes, so that it cannot be repeated later";
      error.attachNote(change->getLoc()) << "changed here";
      return error;
    }
    return success();
  }

  void split(dist::SegmentOp segment, const SegmentOrder::Buckets &buckets) {
    Location where = segment.getLoc();
    int64_t stage = segment.getStage(), chunk = segment.getChunk();
    BackwardSplit split(segment, buckets);
    if (!split.run()) {
      ++backwardsWhole;
      return;
    }
    ++backwardsSplit;
    opsMoved += split.countMoved();
    valuesKept += split.countKept();
    auto options = remark::RemarkOpts::name("weight-gradient").category("dist-split-weight-gradients");
    remark::analysis(where, options) << remark::metric("stage", stage) << remark::metric("chunk", chunk)
                                     << remark::metric("opsMoved", split.countMoved())
                                     << remark::metric("keptBytesPerMicroBatch", split.getKeptBytes());
  }
};

} // namespace
