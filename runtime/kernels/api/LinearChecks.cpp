//===- LinearChecks.cpp - shape checks of the linear family --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

#include <algorithm>

using namespace tgpt::runtime;

/// shape(a) and shape(b) agree in all dimensions but the last.
static void sameRows(CallChecker &c, Operand a, Operand b) {
  c.minRank(a, 1);
  c.minRank(b, 1);
  if (c.rank(a) != c.rank(b))
    c.fail(a, "rank is " + std::to_string(c.rank(a)) + ", expected " + std::to_string(c.rank(b)));
  for (int i = 0; i + 1 < c.rank(b); ++i)
    c.dimIs(a, i, c.dim(b, i));
}

std::string tgpt::runtime::checkLinear(const KernelCall &call) {
  CallChecker c(call, 2, 3, 1);
  c.computeType({input(0), input(1), output(0)});
  c.minRank(input(0), 1);
  c.minRank(output(0), 1);
  c.shape(input(1), {c.dim(output(0), -1), c.dim(input(0), -1)});
  if (c.has(input(2))) {
    c.sameType(input(2), input(0));
    c.shape(input(2), {c.dim(output(0), -1)});
  }
  sameRows(c, output(0), input(0));
  c.optionalChunks(c.dim(input(0), -1), "input features");
  if (!c.failed() && c.has(input(2)) && c.integer("nodes") > 0)
    c.fail("attribute nodes is set, but a bias is no part of a node");
  return c.error();
}

std::string tgpt::runtime::checkLinearDgrad(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  c.computeType({input(0), input(1), output(0)});
  c.minRank(input(0), 1);
  c.minRank(output(0), 1);
  c.shape(input(1), {c.dim(input(0), -1), c.dim(output(0), -1)});
  sameRows(c, output(0), input(0));
  c.optionalChunks(c.dim(input(0), -1), "output features");
  return c.error();
}

std::string tgpt::runtime::checkLinearDgradSum(const KernelCall &call) {
  constexpr size_t mostProducts = 8;
  CallChecker c(call, 2, 2 * mostProducts, 1);
  if (!c.failed() && call.inputs.size() % 2 != 0)
    c.fail("has " + std::to_string(call.inputs.size()) + " inputs, expected as many gradients as weights");
  size_t products = call.inputs.size() / 2;
  c.computeType({input(0), output(0)});
  c.minRank(output(0), 1);
  for (size_t i = 0; i < products; ++i) {
    c.sameType(input(i), input(0));
    c.sameType(input(products + i), input(0));
    c.minRank(input(i), 1);
    c.shape(input(products + i), {c.dim(input(i), -1), c.dim(output(0), -1)});
    sameRows(c, output(0), input(i));
    c.optionalChunks(c.dim(input(i), -1), "output features");
  }
  return c.error();
}

std::string tgpt::runtime::checkLinearWgrad(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1, 1);
  c.computeType({input(0), input(1)});
  c.accumulatorType({output(0)});
  c.minRank(input(0), 1);
  c.minRank(input(1), 1);
  sameRows(c, input(1), input(0));
  c.shape(output(0), {c.dim(input(0), -1), c.dim(input(1), -1)});
  c.optionalChunks(c.elements(input(0)) / std::max<int64_t>(c.dim(input(0), -1), 1), "rows");
  return c.error();
}

std::string tgpt::runtime::checkSumLeading(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1, 1);
  c.computeType({input(0)});
  c.accumulatorType({output(0)});
  c.trailingShape(output(0), input(0));
  c.optionalChunks(c.elements(input(0)) / std::max<int64_t>(c.elements(output(0)), 1), "leading rows");
  return c.error();
}

std::string tgpt::runtime::checkSumPositions(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.computeType({input(0)});
  c.accumulatorType({output(0)});
  c.minRank(input(0), 3);
  c.shape(output(0), {c.dim(input(0), 0), c.dim(input(0), -1)});
  if (!c.failed() && c.rank(input(0)) != 3)
    c.fail(input(0), "rank is " + std::to_string(c.rank(input(0))) + ", expected 3");
  c.optionalChunks(c.dim(input(0), 1), "positions");
  return c.error();
}
