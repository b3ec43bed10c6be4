//===- TokenCases.cpp - calls that take token ids and labels ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CaseBuilder.h"

#include <set>

using namespace tgpt::runtime;
using namespace tgpt::test;

/// Numbers of equal parts that so many columns are cut into: one, the fewest more and the most up to 8.
static std::set<int64_t> partsOf(int64_t columns) {
  std::set<int64_t> some;
  for (int64_t count = 2; count <= 8; ++count)
    if (columns % count == 0)
      some.insert(count);
  return some.empty() ? std::set<int64_t>{1} : std::set<int64_t>{1, *some.begin(), *some.rbegin()};
}

/// The statistics of the columns from `offset` on, of as many parts as can be; labels are below `labels`.
static void addStatistics(Cases &cases, DType t, int64_t b, int64_t s, int v, int64_t offset, int labels,
                          int64_t vocabulary) {
  for (int64_t parts : partsOf(v))
    for (int64_t kinds : {2, 3})
      CaseBuilder(cases, "loss_statistics", t)
          .in({b, s, v}, -8, 8)
          .tokens({b, s}, -1, labels)
          .outA({parts, kinds, b, s})
          .integer("vocab_offset", offset)
          .integer("vocabulary", vocabulary);
}

/// A vocabulary that ends within the columns held here (at offset v), before them or with them.
static void addPaddedLoss(Cases &cases, DType t, int64_t b, int64_t s, int v) {
  for (int64_t vocabulary : {int64_t(v + (v + 1) / 2), int64_t(v), int64_t(2 * v)}) {
    addStatistics(cases, t, b, s, v, v, int(vocabulary), vocabulary);
    for (double smoothing : {0.0, 0.2})
      CaseBuilder(cases, "cross_entropy_grad", t)
          .in({b, s, v}, -8, 8)
          .tokens({b, s}, -1, vocabulary)
          .inA({b, s}, 8, 12)
          .inA({}, 0.5, 2)
          .out({b, s, v})
          .integer("vocab_offset", v)
          .integer("vocabulary", vocabulary)
          .set("label_smoothing", smoothing);
  }
  CaseBuilder(cases, "cross_entropy", t)
      .in({b, s, v}, -8, 8)
      .tokens({b, s}, -1, (v + 1) / 2)
      .outA({})
      .outA({})
      .outA({b, s})
      .integer("vocabulary", (v + 1) / 2)
      .set("label_smoothing", 0.2);
}

/// Ids over two shards; the second one is held here, or the first.
static void addShards(Cases &cases, DType t, int64_t b, int64_t s, int v, int64_t d) {
  for (int64_t offset : {int64_t(0), int64_t(v)}) {
    CaseBuilder(cases, "embedding", t)
        .tokens({b, s}, 0, 2 * v)
        .in({v, d})
        .out({b, s, d})
        .integer("vocab_offset", offset);
    for (int64_t accumulate : {0, 1})
      CaseBuilder(cases, "embedding_grad", t)
          .tokens({b, s}, 0, 2 * v)
          .in({b, s, d})
          .outA({v, d})
          .integer("vocab_offset", offset)
          .integer("accumulate", accumulate);
    CaseBuilder(cases, "cross_entropy_grad", t)
        .in({b, s, v}, -8, 8)
        .tokens({b, s}, -1, 2 * v)
        .inA({b, s}, 8, 12)
        .inA({}, 0.5, 2)
        .out({b, s, v})
        .integer("vocab_offset", offset);
    addStatistics(cases, t, b, s, v, offset, 2 * v, 2 * v); // labels here, elsewhere and ignored
  }
}

static void addSmoothedLoss(Cases &cases, DType t, int64_t b, int64_t s, int v, double zLoss) {
  CaseBuilder(cases, "cross_entropy", t)
      .in({b, s, v}, -8, 8)
      .tokens({b, s}, -1, v)
      .outA({})
      .outA({})
      .outA({b, s})
      .set("label_smoothing", 0.2)
      .set("z_loss", zLoss);
  CaseBuilder(cases, "cross_entropy_grad", t)
      .in({b, s, v}, -8, 8)
      .tokens({b, s}, -1, 2 * v)
      .inA({b, s}, 8, 12)
      .inA({}, 0.5, 2)
      .out({b, s, v})
      .integer("vocab_offset", v)
      .integer("vocabulary", 2 * v)
      .set("label_smoothing", 0.2)
      .set("z_loss", zLoss);
  for (int64_t parts : {1, 2, 5})
    CaseBuilder(cases, "token_loss", t)
        .tokens({b, s}, -1, v)
        .inA({parts, 3, b, s}, -8, 8)
        .outA({})
        .outA({})
        .outA({b, s})
        .set("label_smoothing", 0.2)
        .set("z_loss", zLoss);
}

void tgpt::test::addTokenCases(Cases &cases, DType t, int64_t b, int64_t s, int v, int64_t d) {
  addShards(cases, t, b, s, v, d);
  for (int labels : {v, 0}) // of which none is valid, at last
    CaseBuilder(cases, "cross_entropy", t)
        .in({b, s, v}, -8, 8)
        .tokens({b, s}, -1, labels)
        .outA({})
        .outA({})
        .outA({b, s});
  for (double zLoss : {0.0, 0.01})
    addSmoothedLoss(cases, t, b, s, v, zLoss);
  addPaddedLoss(cases, t, b, s, v);
  for (int64_t parts : {1, 2, 5})
    CaseBuilder(cases, "token_loss", t)
        .tokens({b, s}, -1, v)
        .inA({parts, 2, b, s}, -8, 8)
        .outA({})
        .outA({})
        .outA({b, s});
}
