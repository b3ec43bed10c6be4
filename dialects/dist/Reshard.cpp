//===- Reshard.cpp - give a value another layout ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier, folds and rewrites of dist.reshard. The rewrites move fewer bytes and
// never more: a chain becomes one step, and partial values are summed before they
// are combined across devices.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

LogicalResult ReshardOp::verify() {
  LayoutAttr source = layoutOf(getInput()), target = layoutOf(getOutput());
  if (!source || !target) // C1
    return emitOpError() << (source ? "result" : "operand") << " has no layout";
  if (source.isLocal() != target.isLocal())
    return emitOpError() << "goes between a global and a local type";
  for (StringRef axis : target.partialAxes()) // C2
    if (!source.isPartialOver(axis))
      return emitOpError() << "result is partial over \"" << axis << "\" but the operand is not";
  if (target.isPartial() && target.getReduction() != source.getReduction()) // C2
    return emitOpError() << "changes the reduction from " << stringifyReductionKind(source.getReduction()) << " to "
                         << stringifyReductionKind(target.getReduction());
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshardOp>(); inner && inner.getInput().getType() == getType())
    return inner.getInput();
  return {};
}

namespace {

/// True when going from `source` to `target` only drops data that other devices
/// hold as well, so that nothing is lost by going from `source` elsewhere instead.
bool onlySlices(LayoutAttr source, LayoutAttr target) {
  if (source.getPartial() != target.getPartial())
    return false;
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    LayoutAttr::Axes before = source.axesOf(dim), after = target.axesOf(dim);
    if (before.size() > after.size() || !std::equal(before.begin(), before.end(), after.begin()))
      return false;
  }
  return true;
}

/// reshard(reshard(x)) -> reshard(x), where the first one's work is not shared.
struct MergeReshards : OpRewritePattern<ReshardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshardOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ReshardOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a reshard");
    if (!inner->hasOneUse() && !onlySlices(layoutOf(inner.getInput()), layoutOf(inner.getOutput())))
      return rewriter.notifyMatchFailure(op, "the first reshard communicates and has other users");
    rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

/// The partial value behind `operand`, if it is a reshard of its own that sums it up.
ReshardOp reducedForOneUser(OpOperand &operand) {
  auto reshard = operand.get().getDefiningOp<ReshardOp>();
  if (!reshard || !reshard->hasOneUse())
    return {};
  LayoutAttr source = layoutOf(reshard.getInput()), target = layoutOf(reshard.getOutput());
  bool reduces = source.getPartial() != target.getPartial() && source.getReduction() == ReductionKind::Sum;
  return reduces ? reshard : ReshardOp();
}

/// True for a sum of equal-typed values (the op says it is linear in all of them together).
bool isSumOfEqualTypes(Operation *op) {
  auto sharded = dyn_cast<ShardingRuleOpInterface>(op);
  if (!sharded || op->getNumResults() != 1 || op->getNumOperands() < 2 || addsCanonically(op))
    return false;
  if (op->hasAttr("operandSegmentSizes") || op->getNumRegions() != 0)
    return false;
  Type type = op->getResult(0).getType();
  if (!llvm::all_of(op->getOperandTypes(), [&](Type operand) { return operand == type; }))
    return false;
  return sharded.getShardingRule().linearity == ShardingRule::Linearity::Joint;
}

/// sum(reshard(x), reshard(y), z) -> sum(reshard(sum(x, y)), z) for x and y of one
/// partial layout: one reduction across devices instead of two.
struct SumBeforeReshard : OpInterfaceRewritePattern<ShardingRuleOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ShardingRuleOpInterface op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::VariadicOperands>() || !isSumOfEqualTypes(op))
      return rewriter.notifyMatchFailure(op, "not a sum of any number of equal types");
    llvm::MapVector<Type, SmallVector<ReshardOp>> groups;
    for (OpOperand &operand : op->getOpOperands())
      if (ReshardOp reshard = reducedForOneUser(operand))
        groups[reshard.getInput().getType()].push_back(reshard);
    auto group = llvm::find_if(groups, [](auto &entry) { return entry.second.size() > 1; });
    if (group == groups.end())
      return rewriter.notifyMatchFailure(op, "no two operands are sums of one partial layout");
    Value total = reshardSum(op, group->first, group->second, rewriter);
    replaceGroup(op, group->second, total, rewriter);
    return success();
  }

  static Value reshardSum(Operation *op, Type partialType, ArrayRef<ReshardOp> reshards, PatternRewriter &rewriter) {
    SmallVector<Value> addends;
    for (ReshardOp reshard : reshards)
      addends.push_back(reshard.getInput());
    Operation *sum = rewriter.clone(*op);
    rewriter.modifyOpInPlace(sum, [&] {
      sum->setOperands(addends);
      sum->getResult(0).setType(partialType);
    });
    auto reshard = ReshardOp::create(rewriter, op->getLoc(), op->getResult(0).getType(), sum->getResult(0));
    reshard->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return reshard;
  }

  // The total takes the place of the first of the group; the others leave.
  static void replaceGroup(Operation *op, ArrayRef<ReshardOp> reshards, Value total, PatternRewriter &rewriter) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto reshard = operand.getDefiningOp<ReshardOp>();
      if (!reshard || !llvm::is_contained(reshards, reshard))
        operands.push_back(operand);
      else if (reshard == reshards.front())
        operands.push_back(total);
    }
    if (operands.size() == 1)
      rewriter.replaceOp(op, operands.front());
    else
      rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    for (ReshardOp reshard : reshards)
      rewriter.eraseOp(reshard);
  }
};

/// sum(sum(z, reshard(x)), reshard(y)) -> sum(z, reshard(sum(x, y))) for x and y of one
/// partial layout and an op that adds two: gradients arrive one by one, and the first of
/// them (that of the residual) is whole.
struct NestedSumBeforeReshard : OpInterfaceRewritePattern<ShardingRuleOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ShardingRuleOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() != 2 || !isSumOfEqualTypes(op))
      return rewriter.notifyMatchFailure(op, "not a sum of two equal types");
    for (unsigned outer : {0u, 1u}) {
      ReshardOp last = reducedForOneUser(op->getOpOperand(outer));
      Operation *inner = op->getOperand(1 - outer).getDefiningOp();
      if (!last || !inner || inner->getName() != op->getName() || !inner->hasOneUse() || !isSumOfEqualTypes(inner))
        continue;
      for (unsigned i : {0u, 1u})
        if (ReshardOp first = reducedForOneUser(inner->getOpOperand(i));
            first && first.getInput().getType() == last.getInput().getType()) {
          join(op, inner, inner->getOperand(1 - i), first, last, rewriter);
          return success();
        }
    }
    return rewriter.notifyMatchFailure(op, "no two addends are sums of one partial layout");
  }

  static void join(Operation *op, Operation *inner, Value rest, ReshardOp first, ReshardOp last,
                   PatternRewriter &rewriter) {
    Value total = SumBeforeReshard::reshardSum(op, first.getInput().getType(), {first, last}, rewriter);
    rewriter.modifyOpInPlace(op, [&] { op->setOperands({rest, total}); });
    rewriter.eraseOp(inner);
    rewriter.eraseOp(first);
    rewriter.eraseOp(last);
  }
};

} // namespace

void ReshardOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshards, SumBeforeReshard, NestedSumBeforeReshard>(context);
}
