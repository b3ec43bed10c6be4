//===- NormChecks.cpp - shape checks of the norms -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

#include <algorithm>

using namespace tgpt::runtime;

/// `operands` are vectors over the last dimension of `x`.
static void widthVectors(CallChecker &c, Operand x, std::initializer_list<Operand> operands) {
  c.minRank(x, 1);
  for (Operand operand : operands)
    c.shape(operand, {c.dim(x, -1)});
}

/// Positions of a sample, where `x` is [samples, positions, width]; else 0.
static int64_t positionsOf(const CallChecker &c, Operand x) {
  return !c.failed() && c.rank(x) == 3 ? c.dim(x, 1) : 0;
}

/// `gradients` are vectors over the last dimension of `x`, or with attribute `chunks` one
/// such vector a sample: the sums over equal parts of `count` positions or heads.
static void weightGradients(CallChecker &c, Operand x, int64_t width, int64_t count, std::string_view what,
                            std::initializer_list<Operand> gradients) {
  c.optionalChunks(count, what);
  bool isBySample = c.integer("chunks") > 0;
  if (isBySample && !c.failed() && c.integer("accumulate") != 0)
    c.fail("attribute accumulate is " + std::to_string(c.integer("accumulate")) +
           ", but with attribute chunks the sums of the samples are written");
  if (isBySample && !c.failed() && c.rank(x) != 3)
    c.fail(x, "rank is " + std::to_string(c.rank(x)) + ", expected 3 with attribute chunks");
  for (Operand gradient : gradients)
    if (isBySample)
      c.shape(gradient, {c.dim(x, 0), width});
    else
      c.shape(gradient, {width});
}

std::string tgpt::runtime::checkRmsNorm(const KernelCall &call) {
  CallChecker c(call, 2, 2, 2);
  c.computeType({input(0), input(1), output(0)});
  c.accumulatorType({output(1)});
  widthVectors(c, input(0), {input(1)});
  c.sameShape(output(0), input(0));
  c.rowsShape(output(1), input(0));
  c.requireReal("epsilon");
  return c.error();
}

std::string tgpt::runtime::checkRmsNormGrad(const KernelCall &call) {
  CallChecker c(call, 4, 4, 2, 0b10);
  c.computeType({input(1), input(0), input(2), output(0)});
  c.accumulatorType({input(3), output(1)});
  widthVectors(c, input(1), {input(2)});
  weightGradients(c, input(1), c.dim(input(1), -1), positionsOf(c, input(1)), "positions", {output(1)});
  c.sameShape(input(0), input(1));
  c.sameShape(output(0), input(1));
  c.rowsShape(input(3), input(1));
  return c.error();
}

/// `x` holds whole heads of as many elements as the vector `w` has.
static void wholeHeads(CallChecker &c, Operand x, Operand w) {
  c.minRank(x, 1);
  c.shape(w, {c.dim(w, 0)});
  if (!c.failed() && c.dim(x, -1) % c.dim(w, 0) != 0)
    c.fail(x, "last dimension is " + std::to_string(c.dim(x, -1)) + ", no multiple of the weight's " +
                  std::to_string(c.dim(w, 0)));
  c.requireReal("epsilon");
}

std::string tgpt::runtime::checkHeadNorm(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  c.computeType({input(0), input(1), output(0)});
  wholeHeads(c, input(0), input(1));
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkHeadNormGrad(const KernelCall &call) {
  CallChecker c(call, 3, 3, 2, 0b10);
  c.computeType({input(1), input(0), input(2), output(0)});
  c.accumulatorType({output(1)});
  wholeHeads(c, input(1), input(2));
  c.sameShape(input(0), input(1));
  c.sameShape(output(0), input(1));
  int64_t width = c.dim(input(2), 0);
  weightGradients(c, input(1), width, c.dim(input(1), -1) / std::max<int64_t>(width, 1), "heads", {output(1)});
  return c.error();
}

std::string tgpt::runtime::checkLayerNorm(const KernelCall &call) {
  CallChecker c(call, 3, 3, 3);
  c.computeType({input(0), input(1), input(2), output(0)});
  c.accumulatorType({output(1), output(2)});
  widthVectors(c, input(0), {input(1), input(2)});
  c.sameShape(output(0), input(0));
  c.rowsShape(output(1), input(0));
  c.rowsShape(output(2), input(0));
  c.requireReal("epsilon");
  return c.error();
}

std::string tgpt::runtime::checkLayerNormGrad(const KernelCall &call) {
  CallChecker c(call, 5, 5, 3, 0b110);
  c.computeType({input(1), input(0), input(2), output(0)});
  c.accumulatorType({input(3), input(4), output(1), output(2)});
  widthVectors(c, input(1), {input(2)});
  weightGradients(c, input(1), c.dim(input(1), -1), positionsOf(c, input(1)), "positions", {output(1), output(2)});
  c.sameShape(input(0), input(1));
  c.sameShape(output(0), input(1));
  c.rowsShape(input(3), input(1));
  c.rowsShape(input(4), input(1));
  return c.error();
}
