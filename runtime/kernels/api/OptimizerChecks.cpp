//===- OptimizerChecks.cpp - shape checks of the optimizer family --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

#include <algorithm>

using namespace tgpt::runtime;

/// Input 0 is f64 or f32, and so are all the `operands`.
static void accumulatorOperands(CallChecker &c, std::initializer_list<Operand> operands) {
  c.computeType({input(0)});
  c.accumulatorType({input(0)});
  c.accumulatorType(operands);
}

std::string tgpt::runtime::checkSumSquares(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  accumulatorOperands(c, {output(0)});
  c.scalar(output(0));
  int64_t rank = c.failed() ? 0 : c.rank(input(0)), dim = c.integer("chunk_dim");
  c.optionalInteger("chunk_dim", 0, std::max<int64_t>(rank - 1, 0));
  if (!c.failed())
    c.optionalChunks(rank == 0 ? 1 : c.dim(input(0), int(dim)), "elements of dimension chunk_dim");
  return c.error();
}

std::string tgpt::runtime::checkClipScale(const KernelCall &call) {
  CallChecker c(call, 2, 3, 2);
  accumulatorOperands(c, {input(1), output(0), output(1)});
  for (Operand operand : {input(0), input(1), output(0), output(1)})
    c.scalar(operand);
  if (c.has(input(2))) {
    c.accumulatorType({input(2)});
    c.scalar(input(2));
  }
  c.requireReal("max_norm");
  return c.error();
}

std::string tgpt::runtime::checkAdjustLossScale(const KernelCall &call) {
  CallChecker c(call, 5, 5, 4);
  accumulatorOperands(c, {input(1), input(2), input(3), input(4), output(0), output(1), output(2), output(3)});
  for (size_t i = 0; i < 5; ++i)
    c.scalar(input(i));
  for (size_t i = 0; i < 4; ++i)
    c.scalar(output(i));
  c.requireReal("backoff");
  c.requireReal("growth");
  c.requireInteger("growth_interval", 1);
  return c.error();
}

std::string tgpt::runtime::checkAdamW(const KernelCall &call) {
  CallChecker c(call, 7, 7, 3);
  accumulatorOperands(c, {input(1), input(2), input(3), input(4), input(5), input(6), output(0), output(1), output(2)});
  for (Operand state : {input(1), input(2), input(3), output(0), output(1), output(2)})
    c.sameShape(state, input(0));
  for (Operand operand : {input(4), input(5), input(6)})
    c.scalar(operand);
  for (const char *attribute : {"beta1", "beta2", "epsilon", "weight_decay"})
    c.requireReal(attribute);
  return c.error();
}

std::string tgpt::runtime::checkDivide(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  accumulatorOperands(c, {input(1), output(0)});
  for (Operand operand : {input(0), input(1), output(0)})
    c.scalar(operand);
  return c.error();
}
