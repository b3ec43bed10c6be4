//===- MovementChecks.cpp - shape checks of what moves data --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

#include <algorithm>
#include <bit>

using namespace tgpt::runtime;

std::string tgpt::runtime::checkCast(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkFill(const KernelCall &call) {
  CallChecker c(call, 0, 0, 1);
  c.requireReal("value");
  return c.error();
}

std::string tgpt::runtime::checkCopy(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.sameType(output(0), input(0));
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkAccumulate(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1, 1);
  c.realType(input(0));
  c.realType(output(0));
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkAccumulateTree(const KernelCall &call) {
  size_t levels = std::max<size_t>(call.outputs.size(), 1);
  CallChecker c(call, 2, 2, levels, (int64_t(1) << std::min<size_t>(levels, 62)) - 1);
  c.computeType({input(0)});
  c.accumulatorType({input(0)});
  c.indexType(input(1));
  c.scalar(input(1));
  for (size_t level = 0; level < levels; ++level) {
    c.accumulatorType({output(level)});
    c.sameShape(output(level), input(0));
  }
  c.requireInteger("micro_batches", 2, INT32_MAX);
  size_t needed = std::bit_width(uint64_t(std::max<int64_t>(c.integer("micro_batches"), 1) - 1));
  if (!c.failed() && levels != needed)
    c.fail("has " + std::to_string(levels) + " outputs, expected " + std::to_string(needed) + " levels for " +
           std::to_string(c.integer("micro_batches")) + " micro-batches");
  return c.error();
}

/// What a rank may have of a sum: more than a kernel counts.
static constexpr int64_t mostAddends = 65536;

std::string tgpt::runtime::checkAccumulateNodes(const KernelCall &call) {
  size_t nodes = std::max<size_t>(call.outputs.size(), 1);
  CallChecker c(call, 2, 2, nodes, (int64_t(1) << std::min<size_t>(nodes, 62)) - 1);
  c.computeType({input(0)});
  c.accumulatorType({input(0)});
  c.indexType(input(1));
  for (size_t node = 0; node < nodes; ++node) {
    c.accumulatorType({output(node)});
    c.sameShape(output(node), input(0));
  }
  c.requireInteger("micro_batches", 1, mostAddends);
  c.requireInteger("ranks", 1, mostAddends);
  c.requireInteger("parts", 1, mostAddends / std::max<int64_t>(c.integer("micro_batches"), 1));
  c.requireInteger("part", 0, c.integer("parts") - 1);
  if (c.failed())
    return c.error();
  int64_t parts = c.integer("parts"), samples = call.inputs[1].elements();
  if (samples < parts || samples % parts != 0)
    c.fail("attribute parts is " + std::to_string(parts) + ", which does not divide the " + std::to_string(samples) +
           " samples");
  int64_t addends = c.integer("micro_batches") * parts;
  if (int64_t needed = mostSumNodesAtHand(addends, c.integer("ranks")); !c.failed() && int64_t(nodes) != needed)
    c.fail("has " + std::to_string(nodes) + " outputs, expected " + std::to_string(needed) + " nodes of " +
           std::to_string(addends) + " addends on each of " + std::to_string(c.integer("ranks")) + " ranks");
  return c.error();
}

std::string tgpt::runtime::checkStackNodes(const KernelCall &call) {
  size_t rows = std::max<size_t>(call.inputs.size(), 1);
  CallChecker c(call, rows, rows, 1);
  for (size_t row = 0; row < rows; ++row) {
    c.sameType(input(row), output(0));
    c.sameShape(input(row), input(0));
  }
  if (!c.failed() && c.rank(output(0)) != c.rank(input(0)) + 1)
    c.fail(output(0), "rank is " + std::to_string(c.rank(output(0))) + ", expected one more than the inputs' " +
                          std::to_string(c.rank(input(0))));
  if (c.failed())
    return c.error();
  c.dimIs(output(0), 0, int64_t(rows));
  for (int i = 0; i < c.rank(input(0)); ++i)
    c.dimIs(output(0), i + 1, c.dim(input(0), i));
  return c.error();
}

std::string tgpt::runtime::checkSumNodes(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.realType(input(0));
  c.sameType(output(0), input(0));
  c.minRank(input(0), 1);
  c.requireInteger("addends", 1, mostAddends);
  c.requireInteger("nodes", 1, mostAddends);
  if (!c.failed() && c.rank(output(0)) != c.rank(input(0)) - 1)
    c.fail(output(0), "rank is " + std::to_string(c.rank(output(0))) + ", expected one less than the input's " +
                          std::to_string(c.rank(input(0))));
  if (c.failed())
    return c.error();
  for (int i = 1; i < c.rank(input(0)); ++i)
    c.dimIs(output(0), i - 1, c.dim(input(0), i));
  int64_t rows = c.dim(input(0), 0), nodes = c.integer("nodes"), addends = c.integer("addends");
  if (!c.failed() && (rows % nodes != 0 || nodes != mostSumNodes(addends, std::max<int64_t>(rows / nodes, 1))))
    c.fail("attribute nodes is " + std::to_string(nodes) + ", which is not what ranks with " + std::to_string(addends) +
           " addends have in " + std::to_string(rows) + " rows");
  return c.error();
}

std::string tgpt::runtime::checkSlice(const KernelCall &call) {
  CallChecker c(call, 1, 1, 1);
  c.sameType(output(0), input(0));
  c.minRank(input(0), 1);
  c.requireInteger("dim", 0, c.rank(input(0)) - 1);
  c.requireInteger("offset", 0);
  if (c.failed())
    return c.error();
  if (c.rank(output(0)) != c.rank(input(0)))
    c.fail(output(0),
           "rank is " + std::to_string(c.rank(output(0))) + ", expected " + std::to_string(c.rank(input(0))));
  int64_t along = c.integer("dim"), offset = c.integer("offset");
  for (int i = 0; i < c.rank(input(0)); ++i)
    if (i != along)
      c.dimIs(output(0), i, c.dim(input(0), i));
  int64_t size = c.dim(output(0), int(along)), whole = c.dim(input(0), int(along));
  if (!c.failed() && offset > whole - size)
    c.fail("attribute offset is " + std::to_string(offset) + ": elements " + std::to_string(offset) + " to " +
           std::to_string(offset + size) + " lie outside dimension " + std::to_string(along) + " of size " +
           std::to_string(whole));
  return c.error();
}
