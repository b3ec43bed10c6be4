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
#include "dialects/tgpt/RandomStream.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tgpt;

bool tgpt::isLegalStream(Operation *op, StringRef label, StringRef stream) {
  Constraint constraint(op, label);
  size_t stars = stream.count('*'), expected = op->getParentOfType<RepeatOp>() ? 1 : 0;
  return constraint.holds(!stream.empty(), "stream is empty") &&
         constraint.holds(stars == expected,
                          "stream \"" + stream + "\" has " + Twine(stars) + " '*', expected " +
                              (expected ? "one inside a tgpt.repeat" : "none outside of a tgpt.repeat"));
}

int64_t tgpt::streamKey(int64_t seed, StringRef stream) {
  return int64_t(uint64_t(seed) ^ llvm::xxh3_64bits(stream));
}

LogicalResult DropoutOp::verify() {
  NamedTensor input("input", getInput()), samples("samples", getSamples()), output("output", getOutput());
  Constraint c2(*this, "C2");
  return success(Constraint(*this, "C1").hasRank(input, 3) && c2.sameDim(samples, 0, input, 0) &&
                 c2.sameShape(output, input) && Constraint(*this, "C3").sameElementType(output, input) &&
                 Constraint(*this, "C4").isShare("probability", getProbability()) &&
                 isLegalStream(*this, "C5", getStream()));
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
  NamedAttrList attributes;
  attributes.append("probability", getProbabilityAttr());
  attributes.append("key", builder.getI64IntegerAttr(streamKey(getSeed(), getStream())));
  return attributes;
}

StringRef DropoutOp::getStreamName() {
  return getStream();
}

void DropoutOp::setStreamName(StringRef name) {
  setStream(name);
}

void DropoutOp::setStreamSeed(int64_t seed) {
  setSeed(seed);
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
