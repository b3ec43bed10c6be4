//===- AttentionChecks.cpp - shape checks of attention and rope --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

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
static void checkHeads(CallChecker &c, Operand q, Operand k, Operand v, Operand lse) {
  c.requireInteger("head_dim", 1);
  c.requireInteger("causal", 0, 1);
  c.requireReal("scale");
  c.optionalInteger("chunks", 0, 1);
  int64_t heads = headsOf(c, q);
  int64_t kvHeads = headsOf(c, k);
  if (!c.failed() && heads % kvHeads != 0)
    c.fail(std::to_string(heads) + " query heads are no multiple of " + std::to_string(kvHeads) + " KV heads");
  c.dimIs(k, 0, c.dim(q, 0));
  c.dimIs(k, 1, c.dim(q, 1));
  c.sameShape(v, k);
  c.shape(lse, {c.dim(q, 0), heads, c.dim(q, 1)});
}

std::string tgpt::runtime::checkAttention(const KernelCall &call) {
  CallChecker c(call, 3, 3, 2);
  c.computeType({input(0), input(1), input(2), output(0)});
  c.accumulatorType({output(1)});
  checkHeads(c, input(0), input(1), input(2), output(1));
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkAttentionGrad(const KernelCall &call) {
  CallChecker c(call, 6, 6, 3);
  c.computeType({input(1), input(0), input(2), input(3), input(4), output(0), output(1), output(2)});
  c.accumulatorType({input(5)});
  checkHeads(c, input(1), input(2), input(3), input(5));
  c.sameShape(input(0), input(1));
  c.sameShape(input(4), input(1));
  c.sameShape(output(0), input(1));
  c.sameShape(output(1), input(2));
  c.sameShape(output(2), input(3));
  return c.error();
}
