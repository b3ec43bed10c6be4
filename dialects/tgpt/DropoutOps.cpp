//===- DropoutOps.cpp - dropout ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   y = x mask / (1 - probability)      dx = dy mask / (1 - probability)
//
// The mask is a function of global indices. A shard tells the kernel where it begins
// in position and width; which samples it holds is known at run time only, and comes
// as an operand that is sharded with the batch.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tgpt;

// Layers must not share a stream: their masks would be equal.
static bool hasLegalStream(DropoutOp op) {
  Constraint c5(op, "C5");
  size_t stars = op.getStream().count('*'), expected = op->getParentOfType<RepeatOp>() ? 1 : 0;
  return c5.holds(!op.getStream().empty(), "stream is empty") &&
         c5.holds(stars == expected, "stream \"" + op.getStream() + "\" has " + Twine(stars) + " '*', expected " +
                                         (expected ? "one inside a tgpt.repeat" : "none outside of a tgpt.repeat"));
}

LogicalResult DropoutOp::verify() {
  NamedTensor input("input", getInput()), samples("samples", getSamples()), output("output", getOutput());
  Constraint c2(*this, "C2");
  return success(Constraint(*this, "C1").hasRank(input, 3) && c2.sameDim(samples, 0, input, 0) &&
                 c2.sameShape(output, input) && Constraint(*this, "C3").sameElementType(output, input) &&
                 Constraint(*this, "C4").isShare("probability", getProbability()) && hasLegalStream(*this));
}

ShardingRule DropoutOp::getShardingRule() {
  return ShardingRule::parse("abD,a,->abD");
}

// A comparison and a product; drawing the random words is integer arithmetic.
int64_t DropoutOp::getFlops() {
  return 2 * elementsOf(getInput());
}

NamedAttrList DropoutOp::getKernelAttributes() {
  Builder builder(getContext());
  uint64_t key = uint64_t(getSeed()) ^ llvm::xxh3_64bits(getStream());
  NamedAttrList attributes;
  attributes.append("probability", getProbabilityAttr());
  attributes.append("key", builder.getI64IntegerAttr(int64_t(key)));
  return attributes;
}

SmallVector<ShardOffset> DropoutOp::getShardOffsets() {
  return {{"position_offset", 0, 1}, {"width_offset", 0, 2}};
}

std::optional<unsigned> DropoutOp::getInPlaceOperand(unsigned) {
  return 0;
}

LogicalResult DropoutOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (gradients.isWanted(getInput()))
    addGradient(builder, gradients, getInput(),
                DropoutOp::create(builder, getLoc(), getInput().getType(), gradients.of(getOutput()), getSamples(),
                                  getStep(), getProbabilityAttr(), getStreamAttr(), getSeedAttr()));
  return success();
}

SmallVector<Value> DropoutOp::getSavedForBackward() {
  return {getSamples(), getStep()};
}
