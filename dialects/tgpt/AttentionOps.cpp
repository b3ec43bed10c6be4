//===- AttentionOps.cpp - rope, attention and their gradients ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Heads lie side by side in the last dim: h query heads of c = head_dim elements,
// g KV heads; query head i reads KV head i / (h/g). So the last dim of q is a product
// of KV heads (H), query heads a KV head (G) and elements (D), that of k and v of H
// and D: the rule knows that equal shares of H belong together, and that ranks which
// share out G read the same k and v, whose gradients they add up.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/RandomStream.h"
#include "dialects/tgpt/Tgpt.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;

// Rank 3 with whole heads in the last dim.
static bool holdsHeads(Operation *op, StringRef label, const NamedTensor &tensor, int64_t headDim) {
  return Constraint(op, "C1").hasRank(tensor, 3) && Constraint(op, label).isMultiple(tensor, 2, headDim, "head_dim");
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  NamedTensor input("input", getInput()), output("output", getOutput());
  int64_t headDim = getHeadDim();
  return success(Constraint(*this, "C2")
                     .holds(headDim >= 2 && headDim % 2 == 0,
                            "head_dim is " + Twine(headDim) + ", expected an even number of at least 2") &&
                 holdsHeads(*this, "C2", input, headDim) && Constraint(*this, "C3").sameShape(output, input) &&
                 Constraint(*this, "C3").sameElementType(output, input) &&
                 Constraint(*this, "C4")
                     .isNumber(
                         "theta", getTheta(), [](double theta) { return theta > 0 && std::isfinite(theta); },
                         "a finite number above 0"));
}

ShardingRule RopeOp::getShardingRule() {
  return ShardingRule::parse("abH->abH").block("b").granular('H', getHeadDim(), "head").linearIn({0});
}

// Four products and two sums a pair.
int64_t RopeOp::getFlops() {
  return 3 * elementsOf(getInput());
}

int64_t RopeOp::getWorkspaceBytes() {
  return cost::ropeWorkspace(getInput().getType().getDimSize(1), getHeadDim(), sumElementBytes(getInput()));
}

LogicalResult RopeOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (!gradients.isWanted(getInput()))
    return success();
  Value inputGrad = RopeOp::create(builder, getLoc(), getInput().getType(), gradients.of(getOutput()), getHeadDimAttr(),
                                   getThetaAttr(), builder.getBoolAttr(!getInverse()));
  addGradient(builder, gradients, getInput(), inputGrad);
  return success();
}

SmallVector<Value> RopeOp::getSavedForBackward() {
  return {};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

namespace {
/// What attention and its gradient have in common.
struct AttentionShapes {
  NamedTensor query, key, value, output, lse;
  int64_t headDim;
  bool causal;

  /// Query rows times key columns that the mask lets through, of all heads.
  int64_t pairs() const {
    if (!query.type.hasStaticShape())
      return 0;
    int64_t batch = query.type.getDimSize(0), sequence = query.type.getDimSize(1);
    int64_t heads = query.type.getDimSize(2) / headDim;
    return batch * heads * (causal ? sequence * (sequence + 1) / 2 : sequence * sequence);
  }

  /// Operations of one product of whole matrices, of all heads: a score for every pair, masked or not.
  int64_t squareFlops() const {
    return query.type.hasStaticShape() ? 2 * query.type.getNumElements() * query.type.getDimSize(1) : 0;
  }
};
} // namespace

/// Of the attributes, those the kernel takes.
template <typename AttentionLike> static NamedAttrList attentionAttributes(AttentionLike op) {
  NamedAttrList attributes = scalarAttributes(op);
  for (StringRef name : {"dropout", "stream", "seed"})
    attributes.erase(name);
  if (!op.getDropout().isZero()) {
    Builder builder(op.getContext());
    attributes.append("dropout", op.getDropoutAttr());
    attributes.append("key", builder.getI64IntegerAttr(streamKey(op.getSeed(), op.getStream().value_or(""))));
  }
  return attributes;
}

/// Heads are numbered in the whole tensor; `query` is the operand's number.
template <typename AttentionLike> static SmallVector<ShardOffset> headOffset(AttentionLike op, unsigned query) {
  if (op.getDropout().isZero())
    return {};
  return {{"width_offset", query, 2}};
}

/// Groups of the mask's operands in a rule that begins with the batch.
static std::string maskFactors(ValueRange maskInputs) {
  return maskInputs.empty() ? "" : ",a,";
}

template <typename AttentionLike> static AttentionShapes shapesOf(AttentionLike op) {
  return {NamedTensor("query", op.getQuery()),
          NamedTensor("key", op.getKey()),
          NamedTensor("value", op.getValue()),
          NamedTensor("output", op.getOutput()),
          NamedTensor("lse", op.getLse()),
          int64_t(op.getHeadDim()),
          op.getCausal()};
}

// Query heads are shared out evenly among the KV heads.
static bool hasEvenGroups(Operation *op, const AttentionShapes &shapes) {
  int64_t queryWidth = shapes.query.type.getDimSize(2), keyWidth = shapes.key.type.getDimSize(2);
  if (ShapedType::isDynamic(queryWidth) || ShapedType::isDynamic(keyWidth))
    return true;
  int64_t queryHeads = queryWidth / shapes.headDim, keyHeads = keyWidth / shapes.headDim;
  return Constraint(op, "C3").holds(keyHeads > 0 && queryHeads % keyHeads == 0, "query has " + Twine(queryHeads) +
                                                                                    " heads, not a multiple of the " +
                                                                                    Twine(keyHeads) + " of key");
}

// lse is [batch, heads, sequence].
static bool hasRowStatistics(Operation *op, const AttentionShapes &shapes) {
  Constraint c4(op, "C4");
  if (!Constraint(op, "C1").hasRank(shapes.lse, 3) || !c4.sameDim(shapes.lse, 0, shapes.query, 0) ||
      !c4.sameDim(shapes.lse, 2, shapes.query, 1))
    return false;
  int64_t heads = shapes.lse.type.getDimSize(1), width = shapes.query.type.getDimSize(2);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(width))
    return true;
  return c4.holds(heads == width / shapes.headDim,
                  "lse dim 1 is " + Twine(heads) + " but query has " + Twine(width / shapes.headDim) + " heads");
}

static LogicalResult verifyAttention(Operation *op, const AttentionShapes &shapes, const APFloat &scale) {
  Constraint c2(op, "C2"), c4(op, "C4"), c5(op, "C5");
  if (!c2.holds(shapes.headDim >= 1, "head_dim is " + Twine(shapes.headDim) + ", expected at least 1"))
    return failure();
  for (const NamedTensor *tensor : {&shapes.query, &shapes.key, &shapes.value})
    if (!holdsHeads(op, "C2", *tensor, shapes.headDim) || !c4.sameLeadingDims(*tensor, shapes.query, 2) ||
        !c5.sameElementType(*tensor, shapes.query))
      return failure();
  return success(c4.sameShape(shapes.value, shapes.key) && hasEvenGroups(op, shapes) &&
                 c4.sameShape(shapes.output, shapes.query) && c5.sameElementType(shapes.output, shapes.query) &&
                 hasRowStatistics(op, shapes) && c5.accumulates(shapes.lse, shapes.query) &&
                 Constraint(op, "C6").isNumber(
                     "scale", scale, [](double value) { return std::isfinite(value); }, "a finite number"));
}

static ShardingRule headsRule(StringRef einsum, const AttentionShapes &shapes) {
  ShardingRule rule = ShardingRule::parse(einsum).block("bD");
  int64_t queryWidth = globalShapeOf(shapes.query.type)[2], keyWidth = globalShapeOf(shapes.key.type)[2];
  if (ShapedType::isDynamic(queryWidth) || ShapedType::isDynamic(keyWidth))
    return rule;
  bool isGrouped = queryWidth > keyWidth;
  return rule.sized('H', keyWidth / shapes.headDim, isGrouped ? "KV head" : "head")
      .sized('G', queryWidth / keyWidth, "query head");
}

// The generator's counters have 22 bits for a position and 12 for a head.
static bool fitsCounters(Operation *op, const AttentionShapes &shapes) {
  int64_t sequence = shapes.query.type.getDimSize(1), width = shapes.query.type.getDimSize(2);
  int64_t heads = ShapedType::isDynamic(width) ? 0 : width / shapes.headDim;
  Constraint c9(op, "C9");
  return c9.holds(sequence <= (1 << 22), "dropout of " + Twine(sequence) + " positions, expected at most 4194304") &&
         c9.holds(heads <= (1 << 12), "dropout of " + Twine(heads) + " heads, expected at most 4096");
}

template <typename AttentionLike> static LogicalResult verifyDropout(AttentionLike op, const AttentionShapes &shapes) {
  Constraint c7(op, "C7");
  if (!c7.isShare("dropout", op.getDropout()))
    return failure();
  bool drops = !op.getDropout().isZero();
  size_t inputs = op.getMaskInputs().size(), expected = drops ? 2 : 0;
  if (!c7.holds(inputs == expected, "there are " + Twine(inputs) + " mask_inputs, expected " + Twine(expected)))
    return failure();
  if (!drops)
    return success(Constraint(op, "C8").holds(!op.getStream(), "there is a stream without dropout"));
  NamedTensor samples("samples", op.getMaskInputs()[0]), step("step", op.getMaskInputs()[1]);
  return success(c7.hasRank(samples, 1) && c7.sameDim(samples, 0, shapes.query, 0) && c7.hasRank(step, 0) &&
                 isLegalStream(op, "C8", op.getStream().value_or("")) && fitsCounters(op, shapes));
}

LogicalResult AttentionOp::verify() {
  AttentionShapes shapes = shapesOf(*this);
  return success(succeeded(verifyAttention(*this, shapes, getScale())) && succeeded(verifyDropout(*this, shapes)));
}

ShardingRule AttentionOp::getShardingRule() {
  return headsRule("ab(HGD),ab(HD),ab(HD)" + maskFactors(getMaskInputs()) + "->ab(HGD),a(HG)b", shapesOf(*this));
}

// A pair: q k (2c), scale, maximum, difference, exponential, sum, p v (2c), and with
// dropout a comparison and a product. An output element: the division by the sum.
cost::KernelKind AttentionOp::getKernelKind() {
  return cost::KernelKind::Attention;
}

int64_t AttentionOp::getFlops() {
  int64_t drop = getDropout().isZero() ? 0 : 2;
  return shapesOf(*this).pairs() * (4 * int64_t(getHeadDim()) + 5 + drop) + elementsOf(getOutput());
}

// The scores and their product with the values.
int64_t AttentionOp::getModelFlops() {
  return 2 * shapesOf(*this).squareFlops();
}

NamedAttrList AttentionOp::getKernelAttributes() {
  return attentionAttributes(*this);
}

SmallVector<ShardOffset> AttentionOp::getShardOffsets() {
  return headOffset(*this, 0);
}

StringRef AttentionOp::getStreamName() {
  return getStream().value_or("");
}

void AttentionOp::setStreamName(StringRef name) {
  setStream(name);
}

void AttentionOp::setStreamSeed(int64_t seed) {
  setSeed(seed);
}

// A head is on one rank; its products must not depend on how many others are.
std::optional<ChunkedDim> AttentionOp::getChunkedDim() {
  return ChunkedDim{0, 1, ChunkedDim::Cut::Whole};
}

// The gradients of a KV head are sums over the query heads that share it.
std::optional<ChunkedDim> AttentionGradOp::getChunkedDim() {
  return ChunkedDim{1, 2};
}

LogicalResult AttentionOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (failed(expectNoGradient(*this, gradients, getLse(), "lse")))
    return failure();
  if (!gradients.isWanted(getQuery()) && !gradients.isWanted(getKey()) && !gradients.isWanted(getValue()))
    return success();
  auto grad = AttentionGradOp::create(builder, getLoc(), getQuery().getType(), getKey().getType(), getValue().getType(),
                                      gradients.of(getOutput()), getQuery(), getKey(), getValue(), getOutput(),
                                      getLse(), getMaskInputs(), getHeadDimAttr(), getScaleAttr(), getCausalAttr(),
                                      getDropoutAttr(), getStreamAttr(), getSeedAttr());
  addGradient(builder, gradients, getQuery(), grad.getQueryGrad());
  addGradient(builder, gradients, getKey(), grad.getKeyGrad());
  addGradient(builder, gradients, getValue(), grad.getValueGrad());
  return success();
}

SmallVector<Value> AttentionOp::getSavedForBackward() {
  SmallVector<Value> saved = {getQuery(), getKey(), getValue(), getOutput(), getLse()};
  llvm::append_range(saved, getMaskInputs());
  return saved;
}

//===----------------------------------------------------------------------===//
// attention_grad
//===----------------------------------------------------------------------===//

LogicalResult AttentionGradOp::verify() {
  AttentionShapes shapes = shapesOf(*this);
  if (failed(verifyAttention(*this, shapes, getScale())) || failed(verifyDropout(*this, shapes)))
    return failure();
  NamedTensor outputGrad("output_grad", getOutputGrad()), queryGrad("query_grad", getQueryGrad());
  NamedTensor keyGrad("key_grad", getKeyGrad()), valueGrad("value_grad", getValueGrad());
  Constraint c4(*this, "C4"), c5(*this, "C5");
  return success(c4.sameShape(outputGrad, shapes.output) && c5.sameElementType(outputGrad, shapes.query) &&
                 c4.sameShape(queryGrad, shapes.query) && c5.sameElementType(queryGrad, shapes.query) &&
                 c4.sameShape(keyGrad, shapes.key) && c5.sameElementType(keyGrad, shapes.query) &&
                 c4.sameShape(valueGrad, shapes.value) && c5.sameElementType(valueGrad, shapes.query));
}

ShardingRule AttentionGradOp::getShardingRule() {
  return headsRule("ab(HGD),ab(HGD),ab(HD),ab(HD),ab(HGD),a(HG)b" + maskFactors(getMaskInputs()) +
                       "->ab(HGD),ab(HD),ab(HD)",
                   shapesOf(*this));
}

// A pair: q k, do v, dq, dk, dv (10c); scale, difference, exponential of the
// recomputed probability and three for its gradient; with dropout a comparison and two
// products. An element: do o (2).
cost::KernelKind AttentionGradOp::getKernelKind() {
  return cost::KernelKind::Attention;
}

int64_t AttentionGradOp::getFlops() {
  int64_t drop = getDropout().isZero() ? 0 : 3;
  return shapesOf(*this).pairs() * (10 * int64_t(getHeadDim()) + 6 + drop) + 2 * elementsOf(getOutput());
}

// Two products for each of the forward; the scores, computed again, do not count.
int64_t AttentionGradOp::getModelFlops() {
  return 4 * shapesOf(*this).squareFlops();
}

NamedAttrList AttentionGradOp::getKernelAttributes() {
  return attentionAttributes(*this);
}

SmallVector<ShardOffset> AttentionGradOp::getShardOffsets() {
  return headOffset(*this, 1);
}

int64_t AttentionGradOp::getWorkspaceBytes() {
  int64_t chunks = localChunksOf(*this), kvHeads = widthOf(getKey()) / int64_t(getHeadDim());
  return cost::attentionGradWorkspace(elementsOf(getLse()), elementsOf(getKey()), chunks > 0 ? chunks / kvHeads : 1,
                                      sumElementBytes(getQuery()));
}
