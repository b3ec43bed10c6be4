//===- AdditionOps.cpp - add, add_n and sum_leading ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops that are linear in all their operands together: partial operands give a
// partial result, so a reduction over ranks may wait until after them.
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tgpt;

// Of a rank: as many as a kernel counts.
static constexpr int64_t mostAddends = 65536;

// The shape of `tail` is the trailing dims of `whole`.
static bool isTrailing(Operation *op, const NamedTensor &tail, const NamedTensor &whole) {
  Constraint c1(op, "C1");
  if (!c1.hasRankAtLeast(whole, tail.rank()))
    return false;
  int64_t skipped = whole.rank() - tail.rank();
  for (int64_t dim = 0; dim < tail.rank(); ++dim)
    if (!c1.sameDim(tail, dim, whole, skipped + dim))
      return false;
  return true;
}

static ShardingRule::Dims trailingDims(RankedTensorType tail, RankedTensorType whole) {
  return ShardingRule::dims(leadingFactors(whole.getRank()).substr(whole.getRank() - tail.getRank()));
}

//===----------------------------------------------------------------------===//
// add
//===----------------------------------------------------------------------===//

LogicalResult AddOp::verify() {
  NamedTensor lhs("lhs", getLhs()), rhs("rhs", getRhs()), output("output", getOutput());
  Constraint c2(*this, "C2"), c3(*this, "C3");
  return success(isTrailing(*this, rhs, lhs) && c2.sameShape(output, lhs) && c3.sameElementType(rhs, lhs) &&
                 c3.sameElementType(output, lhs));
}

ShardingRule AddOp::getShardingRule() {
  ShardingRule rule;
  ShardingRule::Dims all = ShardingRule::dims(leadingFactors(getLhs().getType().getRank()));
  rule.operands = {all, trailingDims(getRhs().getType(), getLhs().getType())};
  rule.results.push_back(all);
  return rule.joint();
}

int64_t AddOp::getFlops() {
  return elementsOf(getOutput());
}

std::optional<unsigned> AddOp::getInPlaceOperand(unsigned) {
  return 0;
}

LogicalResult AddOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  Value outputGrad = gradients.of(getOutput());
  addGradient(builder, gradients, getLhs(), outputGrad);
  if (!gradients.isWanted(getRhs()))
    return success();
  bool isBroadcast = getRhs().getType().getRank() < getLhs().getType().getRank();
  addGradient(builder, gradients, getRhs(),
              isBroadcast
                  ? SumLeadingOp::create(builder, getLoc(), weightGradientType(getRhs()), outputGrad).getOutput()
                  : outputGrad);
  return success();
}

SmallVector<Value> AddOp::getSavedForBackward() {
  return {};
}

//===----------------------------------------------------------------------===//
// sum_leading
//===----------------------------------------------------------------------===//

LogicalResult SumLeadingOp::verify() {
  NamedTensor input("input", getInput()), output("output", getOutput());
  return success(isTrailing(*this, output, input) && Constraint(*this, "C2").accumulates(output, input));
}

ShardingRule SumLeadingOp::getShardingRule() {
  ShardingRule rule;
  rule.operands.push_back(ShardingRule::dims(leadingFactors(getInput().getType().getRank())));
  rule.results.push_back(trailingDims(getOutput().getType(), getInput().getType()));
  return rule.joint();
}

int64_t SumLeadingOp::getFlops() {
  return elementsOf(getInput());
}

int64_t SumLeadingOp::getWorkspaceBytes() {
  int64_t width = elementsOf(getOutput());
  return cost::columnSumWorkspace(elementsOf(getInput()) / width, width, localChunksOf(*this),
                                  sumElementBytes(getOutput()));
}

bool SumLeadingOp::canAccumulate(unsigned) {
  return true;
}

// The samples come first: one after the other.
std::optional<ChunkedDim> SumLeadingOp::getChunkedDim() {
  return ChunkedDim{0, 0, ChunkedDim::Cut::EachElement};
}

// sum over samples and positions = sum over samples of the sums over their positions
void SumLeadingOp::sumBySample(OpBuilder &builder) {
  RankedTensorType input = getInput().getType(), output = getOutput().getType();
  if (input.getRank() != 3 || output.getRank() != 1)
    return;
  auto type = RankedTensorType::get({input.getDimSize(0), input.getDimSize(2)}, output.getElementType());
  auto sums = SumPositionsOp::create(builder, getLoc(), type, getInput());
  sums->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  getInputMutable().assign(sums.getOutput());
}

//===----------------------------------------------------------------------===//
// sum_positions
//===----------------------------------------------------------------------===//

LogicalResult SumPositionsOp::verify() {
  NamedTensor input("input", getInput()), output("output", getOutput());
  Constraint c1(*this, "C1");
  return success(c1.hasRank(input, 3) && c1.hasRank(output, 2) && c1.sameDim(output, 0, input, 0) &&
                 c1.sameDim(output, 1, input, 2) && Constraint(*this, "C2").accumulates(output, input));
}

ShardingRule SumPositionsOp::getShardingRule() {
  return ShardingRule::parse("abT->aT");
}

int64_t SumPositionsOp::getFlops() {
  return elementsOf(getInput());
}

int64_t SumPositionsOp::getWorkspaceBytes() {
  return cost::sampleSumWorkspace(getInput().getType().getDimSize(0), widthOf(getInput()), localChunksOf(*this),
                                  sumElementBytes(getOutput()));
}

std::optional<ChunkedDim> SumPositionsOp::getChunkedDim() {
  return ChunkedDim{0, 1};
}

//===----------------------------------------------------------------------===//
// add_n
//===----------------------------------------------------------------------===//

LogicalResult AddNOp::verify() {
  Constraint c1(*this, "C1"), c2(*this, "C2");
  if (!c1.holds(!getInputs().empty(), "has 0 operands, expected at least 1"))
    return failure();
  NamedTensor output("output", getOutput());
  for (Value value : getInputs()) {
    NamedTensor input("input", value);
    if (!c2.sameShape(input, output) || !c2.sameElementType(input, output))
      return failure();
  }
  return success();
}

ShardingRule AddNOp::getShardingRule() {
  ShardingRule rule;
  ShardingRule::Dims all = ShardingRule::dims(leadingFactors(getOutput().getType().getRank()));
  rule.operands.assign(getInputs().size(), all);
  rule.results.push_back(all);
  return rule.joint();
}

int64_t AddNOp::getFlops() {
  return (int64_t(getInputs().size()) - 1) * elementsOf(getOutput());
}

int64_t AddNOp::getWorkspaceBytes() {
  return cost::addWorkspace(int64_t(getInputs().size()), elementsOf(getOutput()), sumElementBytes(getOutput()));
}

std::optional<unsigned> AddNOp::getInPlaceOperand(unsigned) {
  return 0;
}

//===----------------------------------------------------------------------===//
// join_nodes and sum_nodes
//===----------------------------------------------------------------------===//

LogicalResult JoinNodesOp::verify() {
  Constraint c1(*this, "C1"), c2(*this, "C2");
  for (Type type : getNodes().getTypes())
    if (!c2.holds(type == getOutput().getType(), "operands and result differ in type"))
      return failure();
  int64_t addends = getAddends(), nodes = getNodes().size();
  return success(c1.holds(addends >= 1 && addends <= mostAddends,
                          "has " + Twine(addends) + " addends, expected 1 to " + Twine(mostAddends)) &&
                 c1.holds(nodes >= 2 && nodes <= mostSumNodes(addends, addends * 2),
                          "has " + Twine(nodes) + " operands, expected 2 to " +
                              Twine(mostSumNodes(addends, addends * 2)) + " nodes of " + Twine(addends) + " addends"));
}

ShardingRule JoinNodesOp::getShardingRule() {
  ShardingRule rule;
  ShardingRule::Dims all = ShardingRule::dims(leadingFactors(getOutput().getType().getRank()));
  rule.operands.assign(getNodes().size(), all);
  rule.results.push_back(all);
  rule.addsNothing = true;
  return rule.joint();
}

int64_t JoinNodesOp::getFlops() {
  return 0;
}

int64_t JoinNodesOp::getBytesRead() {
  return 0;
}

int64_t JoinNodesOp::getBytesWritten() {
  return 0;
}

LogicalResult SumNodesOp::verify() {
  NamedTensor input("input", getInput()), output("output", getOutput());
  Constraint c1(*this, "C1"), c2(*this, "C2");
  if (!c1.hasRankAtLeast(input, 1) || !c1.hasRank(output, input.rank() - 1) || !isTrailing(*this, output, input) ||
      !c1.sameElementType(output, input))
    return failure();
  int64_t rows = getInput().getType().getDimSize(0), addends = getAddends(), nodes = getNodes();
  if (!c2.holds(addends >= 1 && addends <= mostAddends,
                "has " + Twine(addends) + " addends, expected 1 to " + Twine(mostAddends)) ||
      !c2.holds(nodes >= 1 && rows % nodes == 0,
                "has " + Twine(nodes) + " nodes a rank, which do not divide the " + Twine(rows) + " rows"))
    return failure();
  int64_t expected = mostSumNodes(addends, rows / nodes);
  return success(c2.holds(nodes == expected, "has " + Twine(nodes) + " nodes a rank, expected " + Twine(expected) +
                                                 " of " + Twine(addends) + " addends on " + Twine(rows / nodes) +
                                                 " ranks"));
}

ShardingRule SumNodesOp::getShardingRule() {
  ShardingRule rule;
  rule.operands.push_back(ShardingRule::dims(leadingFactors(getInput().getType().getRank())));
  rule.results.push_back(trailingDims(getOutput().getType(), getInput().getType()));
  return rule.joint();
}

int64_t SumNodesOp::getFlops() {
  return elementsOf(getInput());
}

namespace {

/// add_n(x) -> x
struct ForwardSingleOperand : OpRewritePattern<AddNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddNOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "has more than one operand");
    if (op.getInputs().front().getType() != op.getOutput().getType())
      return rewriter.notifyMatchFailure(op, "operand and result differ in type");
    rewriter.replaceOp(op, op.getInputs().front());
    return success();
  }
};

/// add_n(add_n(x, y), z) -> add_n(x, y, z), where the inner sum has no other use.
struct FlattenNestedSum : OpRewritePattern<AddNOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddNOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> addends;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<AddNOp>();
      if (inner && input.hasOneUse() && inner->getBlock() == op->getBlock())
        llvm::append_range(addends, inner.getInputs());
      else
        addends.push_back(input);
    }
    if (addends == SmallVector<Value>(op.getInputs()))
      return rewriter.notifyMatchFailure(op, "no operand is a sum with this one use");
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(addends); });
    return success();
  }
};

} // namespace

void AddNOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ForwardSingleOperand, FlattenNestedSum>(context);
}
