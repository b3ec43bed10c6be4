//===- AttentionChecks.cpp - shape checks of attention and rope --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"
#include "runtime/kernels/api/SumTree.h"

#include <algorithm>

using namespace tgpt::runtime;

/// The operand is [b,s,heads*head_dim]; returns heads, or 0 after a failure.
static int64_t headsOf(CallChecker &c, Operand operand) {
  if (!c.failed() && c.rank(operand) != 3)
    c.fail(operand, "rank is " + std::to_string(c.rank(operand)) + ", expected 3 (batch, sequence, heads*head_dim)");
  int64_t headDim = c.integer("head_dim");
  if (!c.failed() && c.dim(operand, -1) % headDim != 0)
    c.fail(operand, "last dimension is " + std::to_string(c.dim(operand, -1)) + ", no multiple of head_dim " +
                        std::to_string(headDim));
  return c.failed() ? 0 : c.dim(operand, -1) / headDim;
}

std::string tgpt::runtime::checkRope(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.computeType({input(0), output(0)});
  c.sameShape(output(0), input(0));
  c.requireInteger("head_dim", 2);
  c.requireReal("theta");
  c.optionalInteger("inverse", 0, 1);
  c.optionalInteger("position_offset", 0, INT32_MAX);
  headsOf(c, input(0));
  if (!c.failed() && c.integer("head_dim") % 2 != 0)
    c.fail("attribute head_dim is " + std::to_string(c.integer("head_dim")) + ", expected an even number");
  return c.error();
}

/// q, k and v, and what they have in common; lse is [b,h,s].
static void checkHeads(CallChecker &c, Operand q, Operand k, Operand v, Operand lse, int64_t mostChunks) {
  c.requireInteger("head_dim", 1);
  c.requireInteger("causal", 0, 1);
  c.requireReal("scale");
  c.optionalInteger("chunks", 0, mostChunks);
  int64_t heads = headsOf(c, q);
  int64_t kvHeads = headsOf(c, k);
  if (!c.failed() && heads % kvHeads != 0)
    c.fail(std::to_string(heads) + " query heads are no multiple of " + std::to_string(kvHeads) + " KV heads");
  c.dimIs(k, 0, c.dim(q, 0));
  c.dimIs(k, 1, c.dim(q, 1));
  c.sameShape(v, k);
  c.shape(lse, {c.dim(q, 0), heads, c.dim(q, 1)});
}

/// With dropout, inputs `first` and `first` + 1 are the sample numbers and the step.
static void checkMaskInputs(CallChecker &c, const KernelCall &call, size_t first, Operand q) {
  if (c.failed() || !c.has(input(first)))
    return;
  if (!c.has(input(first + 1)))
    return c.fail("there are sample numbers, but no step");
  c.indexType(input(first));
  c.indexType(input(first + 1));
  c.shape(input(first), {c.dim(q, 0)});
  c.scalar(input(first + 1));
  c.requireReal("dropout");
  if (double p = call.attributes->real("dropout"); !c.failed() && !(p >= 0 && p < 1))
    c.fail("attribute dropout is " + std::to_string(p) + ", expected at least 0 and below 1");
  c.requireInteger("key", INT64_MIN);
  // A counter has 20 bits for a quarter of the column and 12 for the head.
  int64_t headDim = c.integer("head_dim"), mostHeads = 1 << 12, mostPositions = 1 << 22;
  c.optionalInteger("width_offset", 0, mostHeads * std::max<int64_t>(headDim, 1));
  if (c.failed())
    return;
  if (c.integer("width_offset") % headDim != 0)
    c.fail("attribute width_offset is " + std::to_string(c.integer("width_offset")) + ", no multiple of head_dim " +
           std::to_string(headDim));
  if (c.dim(q, 1) > mostPositions || (c.integer("width_offset") + c.dim(q, 2)) / headDim > mostHeads)
    c.fail(q, "dropout is of 4194304 positions and 4096 heads at most");
}

std::string tgpt::runtime::checkAttention(const KernelCall &call) {
  CallChecker c(call, 3, 5, 2);
  c.computeType({input(0), input(1), input(2), output(0)});
  c.accumulatorType({output(1)});
  checkHeads(c, input(0), input(1), input(2), output(1), 1);
  c.sameShape(output(0), input(0));
  checkMaskInputs(c, call, 3, input(0));
  return c.error();
}

/// The query heads of every KV head are cut into equally many chunks.
static void checkHeadChunks(CallChecker &c, Operand q, Operand k) {
  int64_t heads = headsOf(c, q), kvHeads = headsOf(c, k), chunks = c.failed() ? 0 : c.integer("chunks");
  if (chunks > 0 && (chunks % kvHeads != 0 || heads % chunks != 0))
    c.fail("attribute chunks is " + std::to_string(chunks) + ", no multiple of " + std::to_string(kvHeads) +
           " KV heads that divides " + std::to_string(heads) + " query heads");
  c.chunkRange();
  if (!c.failed() && c.integer("nodes") > 0 && kvHeads != 1)
    c.fail("attribute nodes is set, but the chunks are those of " + std::to_string(kvHeads) + " KV heads, expected 1");
}

std::string tgpt::runtime::checkAttentionGrad(const KernelCall &call) {
  CallChecker c(call, 6, 8, 3);
  c.computeType({input(1), input(0), input(2), input(3), input(4), output(0), output(1), output(2)});
  c.accumulatorType({input(5)});
  checkHeads(c, input(1), input(2), input(3), input(5), mostSumTreeAddends);
  c.sameShape(input(0), input(1));
  c.sameShape(input(4), input(1));
  c.sameShape(output(0), input(1));
  c.sameShape(output(1), input(2));
  c.sameShape(output(2), input(3));
  checkHeadChunks(c, input(1), input(2));
  checkMaskInputs(c, call, 6, input(1));
  return c.error();
}
