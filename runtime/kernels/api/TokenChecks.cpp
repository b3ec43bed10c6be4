//===- TokenChecks.cpp - shape checks of what reads ids or labels --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

using namespace tgpt::runtime;

/// `operand` is a matrix over the vocabulary whose rows are as wide as `x`.
static void vocabularyTable(CallChecker &c, Operand operand, Operand x) {
  c.minRank(x, 1);
  c.minRank(operand, 2);
  c.shape(operand, {c.dim(operand, 0), c.dim(x, -1)});
}

std::string tgpt::runtime::checkEmbedding(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  c.indexType(input(0));
  c.computeType({input(1), output(0)});
  vocabularyTable(c, input(1), output(0));
  c.rowsShape(input(0), output(0));
  c.optionalInteger("vocab_offset", 0, INT32_MAX);
  return c.error();
}

std::string tgpt::runtime::checkEmbeddingGrad(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1, 1);
  c.indexType(input(0));
  c.computeType({input(1)});
  c.accumulatorType({output(0)});
  vocabularyTable(c, output(0), input(1));
  c.rowsShape(input(0), input(1));
  c.optionalInteger("vocab_offset", 0, INT32_MAX);
  c.optionalChunks(c.elements(input(0)), "tokens");
  return c.error();
}

/// Columns from `vocabulary` on are padding; without it, none are.
static void vocabularyAttribute(CallChecker &c, const KernelCall &call) {
  int64_t vocabulary = call.attributes->integer("vocabulary", 1);
  if (!c.failed() && (vocabulary < 1 || vocabulary > INT32_MAX))
    c.fail("attribute vocabulary is " + std::to_string(vocabulary) + ", expected 1 to " + std::to_string(INT32_MAX));
}

/// The same where ranks share the columns, and count them together.
static void sharedVocabulary(CallChecker &c, const KernelCall &call) {
  c.optionalInteger("vocab_offset", 0, INT32_MAX);
  vocabularyAttribute(c, call);
}

/// Attributes of the loss; both may be absent.
static void lossAttributes(CallChecker &c, const KernelCall &call) {
  double smoothing = call.attributes->real("label_smoothing"), zLoss = call.attributes->real("z_loss");
  if (!c.failed() && !(smoothing >= 0 && smoothing < 1))
    c.fail("attribute label_smoothing is " + std::to_string(smoothing) + ", expected at least 0 and below 1");
  if (!c.failed() && !(zLoss >= 0))
    c.fail("attribute z_loss is " + std::to_string(zLoss) + ", expected at least 0");
}

std::string tgpt::runtime::checkCrossEntropy(const KernelCall &call) {
  CallChecker c(call, 2, 2, 3);
  c.computeType({input(0)});
  c.indexType(input(1));
  c.accumulatorType({output(0), output(1), output(2)});
  c.rowsShape(input(1), input(0));
  c.scalar(output(0));
  c.scalar(output(1));
  c.rowsShape(output(2), input(0));
  lossAttributes(c, call);
  vocabularyAttribute(c, call);
  return c.error();
}

std::string tgpt::runtime::checkCrossEntropyGrad(const KernelCall &call) {
  CallChecker c(call, 4, 4, 1);
  c.computeType({input(0), output(0)});
  c.indexType(input(1));
  c.accumulatorType({input(2), input(3)});
  c.rowsShape(input(1), input(0));
  c.rowsShape(input(2), input(0));
  c.scalar(input(3));
  c.sameShape(output(0), input(0));
  sharedVocabulary(c, call);
  lossAttributes(c, call);
  if (call.attributes->real("label_smoothing") != 0)
    c.requireInteger("vocabulary", 1);
  return c.error();
}

/// [part, statistic, ...] of labels [...], with so many statistics.
static void statisticsShape(CallChecker &c, Operand statistics, Operand labels, int64_t kinds) {
  c.minRank(statistics, 2);
  c.trailingShape(labels, statistics);
  if (!c.failed() && c.rank(statistics) != c.rank(labels) + 2)
    c.fail(statistics, "has " + std::to_string(c.rank(statistics)) + " dimensions, expected " +
                           std::to_string(c.rank(labels) + 2) + ": part, statistic and those of the labels");
  c.dimIs(statistics, 1, kinds);
}

std::string tgpt::runtime::checkLossStatistics(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  c.computeType({input(0)});
  c.indexType(input(1));
  c.accumulatorType({output(0)});
  c.rowsShape(input(1), input(0));
  c.minRank(output(0), 2);
  bool isSmoothed = c.dim(output(0), 1) == 3;
  statisticsShape(c, output(0), input(1), isSmoothed ? 3 : 2);
  int64_t parts = c.dim(output(0), 0), columns = c.dim(input(0), -1);
  if (!c.failed() && columns % parts != 0)
    c.fail(std::to_string(columns) + " columns are not " + std::to_string(parts) + " equal parts");
  if (isSmoothed)
    c.requireInteger("vocabulary", 1);
  sharedVocabulary(c, call);
  return c.error();
}

std::string tgpt::runtime::checkTokenLoss(const KernelCall &call) {
  CallChecker c(call, 2, 2, 3);
  c.indexType(input(0));
  c.computeType({input(1)});
  c.accumulatorType({input(1), output(0), output(1), output(2)});
  statisticsShape(c, input(1), input(0), call.attributes->real("label_smoothing") != 0 ? 3 : 2);
  c.sameShape(output(2), input(0));
  c.scalar(output(0));
  c.scalar(output(1));
  c.optionalChunks(c.elements(input(0)), "tokens");
  lossAttributes(c, call);
  return c.error();
}
