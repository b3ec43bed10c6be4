//===- EmbeddingOps.cpp - embedding and its gradient ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   y[b,s,:] = table[ids[b,s],:]      dtable[ids[b,s],:] += dy[b,s,:]
//
// A rank that holds a shard of the table's rows looks up and adds only those: the
// kernel's `vocab_offset` says which global row is its first.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Backward.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

// ids [b, s], table [v, d] and rows [b, s, d] belong together.
static bool areLookup(Operation *op, const NamedTensor &ids, const NamedTensor &table, const NamedTensor &rows) {
  Constraint c1(op, "C1"), c2(op, "C2");
  return c1.hasRank(table, 2) && c1.hasRank(rows, 3) && c2.sameLeadingDims(rows, ids, 2) &&
         c2.sameDim(rows, 2, table, 1);
}

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  NamedTensor ids("ids", getIds()), table("table", getTable()), output("output", getOutput());
  if (!areLookup(*this, ids, table, output) || !Constraint(*this, "C3").sameElementType(output, table))
    return failure();
  int64_t rows = globalShapeOf(table.type).front(), vocabulary = getVocabulary().value_or(rows);
  return success(Constraint(*this, "C4")
                     .holds(!getVocabulary() || (vocabulary >= 1 && vocabulary <= rows),
                            "vocabulary is " + Twine(vocabulary) + ", expected 1 to " + Twine(rows)));
}

// How many ids there are is a promise to who feeds them, and nothing to the kernel.
NamedAttrList EmbeddingOp::getKernelAttributes() {
  return {};
}

ShardingRule EmbeddingOp::getShardingRule() {
  return ShardingRule::parse("ab,VD->abD");
}

int64_t EmbeddingOp::getFlops() {
  return 0;
}

// The rows that are looked up, not the table.
int64_t EmbeddingOp::getBytesRead() {
  return bytesOf(getIds().getType()) + bytesOf(getOutput().getType());
}

SmallVector<ShardOffset> EmbeddingOp::getShardOffsets() {
  return {{"vocab_offset", 1, 0}};
}

// One rank has the row, the others add 0.
std::optional<ChunkedDim> EmbeddingOp::getChunkedDim() {
  return std::nullopt;
}

LogicalResult EmbeddingOp::buildBackward(OpBuilder &builder, Gradients &gradients) {
  if (gradients.isWanted(getTable()))
    addGradient(builder, gradients, getTable(),
                EmbeddingGradOp::create(builder, getLoc(), weightGradientType(getTable()), getIds(),
                                        gradients.of(getOutput())));
  return success();
}

SmallVector<Value> EmbeddingOp::getSavedForBackward() {
  return {getIds()};
}

//===----------------------------------------------------------------------===//
// embedding_grad
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradOp::verify() {
  NamedTensor ids("ids", getIds()), outputGrad("output_grad", getOutputGrad()), tableGrad("table_grad", getTableGrad());
  return success(areLookup(*this, ids, tableGrad, outputGrad) &&
                 Constraint(*this, "C3").accumulates(tableGrad, outputGrad));
}

ShardingRule EmbeddingGradOp::getShardingRule() {
  return ShardingRule::parse("ab,abD->VD");
}

int64_t EmbeddingGradOp::getFlops() {
  return elementsOf(getOutputGrad());
}

SmallVector<ShardOffset> EmbeddingGradOp::getShardOffsets() {
  return {{"vocab_offset", 0, 0, /*isResult=*/true}};
}

// The tokens of one sample after those of the other.
std::optional<ChunkedDim> EmbeddingGradOp::getChunkedDim() {
  return ChunkedDim{0, 0, ChunkedDim::Cut::EachElement};
}

bool EmbeddingGradOp::canAccumulate(unsigned) {
  return true;
}
