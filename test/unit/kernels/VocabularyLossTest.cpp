//===- VocabularyLossTest.cpp - the loss of parts is the loss ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Logits shared out over ranks: loss_statistics on each, token_loss on what they gather, against
// the reference of cross_entropy on all logits. Bound: that of cross_entropy, once for a part,
// once for merging, once for the statistics' rounding. Parts and rows of minus infinity, and NaN,
// among them.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/TypeDispatch.h"
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/ErrorBounds.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tgpt::runtime;
using namespace tgpt::test;

static constexpr int64_t tokens = 9, columns = 120;
static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The loss of random logits; the token in the middle is ignored.
static Case wholeLoss(DType dtype, int64_t vocabulary, double smoothing) {
  std::mt19937 random(11);
  Tensor logits(dtype, {tokens, columns}), labels(DType::I32, {tokens}), scalar(accumulatorOf(dtype), {});
  for (int64_t i = 0; i < logits.elements(); ++i)
    logits.set(i, std::uniform_real_distribution<double>(-8, 8)(random));
  for (int64_t t = 0; t < tokens; ++t)
    labels.set(t, t == tokens / 2 ? -1.0 : double(random() % vocabulary));
  Case kase{"cross_entropy", "cross_entropy", dtype, {logits, labels}, {}, {}};
  kase.outputs = {scalar, scalar, Tensor(accumulatorOf(dtype), {tokens})};
  kase.attributes.set("vocabulary", vocabulary);
  kase.attributes.set("label_smoothing", smoothing);
  kase.attributes.set("z_loss", 0.01);
  return kase;
}

/// What rank `rank` makes of its share of the columns.
static Tensor statisticsOfRank(const Case &whole, const CpuKernelBuild &build, int64_t parts, int64_t rank,
                               int64_t ranks) {
  int64_t own = columns / ranks, kinds = whole.attributes.real("label_smoothing") != 0 ? 3 : 2;
  Tensor logits(whole.compute, {tokens, own}), result(accumulatorOf(whole.compute), {parts / ranks, kinds, tokens});
  for (int64_t i = 0; i < logits.elements(); ++i)
    logits.set(i, whole.inputs[0].get(i / own * columns + rank * own + i % own));
  Case call{"loss_statistics", "loss_statistics", whole.compute, {logits, whole.inputs[1]}, {result}, {}};
  call.attributes.set("vocab_offset", rank * own);
  call.attributes.set("vocabulary", whole.attributes.integer("vocabulary"));
  return call.run(*findKernel(build.table, call.kernel)).front();
}

/// Loss, count and lse of the statistics that all ranks gather.
static std::vector<Tensor> lossOfParts(const Case &whole, const CpuKernelBuild &build, int64_t parts, int64_t ranks) {
  int64_t kinds = whole.attributes.real("label_smoothing") != 0 ? 3 : 2;
  Tensor gathered(accumulatorOf(whole.compute), {parts, kinds, tokens});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor own = statisticsOfRank(whole, build, parts, rank, ranks);
    for (int64_t i = 0; i < own.elements(); ++i)
      gathered.set(rank * own.elements() + i, own.get(i));
  }
  Case call{"token_loss", "token_loss", whole.compute, {whole.inputs[1], gathered}, whole.outputs, {}};
  for (const char *name : {"label_smoothing", "z_loss"})
    call.attributes.set(name, whole.attributes.real(name));
  return call.run(*findKernel(build.table, call.kernel));
}

static void expectLossOfWhole(const Case &whole) {
  std::vector<Tensor> expected = whole.run(*findKernel(KernelBackend::Reference, whole.kernel));
  auto bounds = errorBounds(whole, expected);
  for (const CpuKernelBuild *build : buildsOf("loss_statistics"))
    for (auto [parts, ranks] : {std::pair(1, 1), {2, 2}, {3, 1}, {8, 1}, {8, 4}, {120, 5}}) {
      std::vector<Tensor> got = lossOfParts(whole, *build, parts, ranks);
      for (size_t o = 0; o < got.size(); ++o)
        EXPECT_LE(worstRatio(got[o], expected[o], bounds[o]), 3)
            << build->name << " " << name(whole.compute) << ", " << parts << " parts of " << ranks << ": output " << o;
    }
}

static constexpr DType dtypes[] = {DType::F64, DType::F32, DType::BF16, DType::F16};

/// 50 columns of 120: of 8 parts the last four are padding.
TEST(VocabularyLoss, OfPartsIsThatOfTheWhole) {
  for (DType dtype : dtypes)
    for (double smoothing : {0.0, 0.2})
      for (int64_t vocabulary : {columns, int64_t(50), int64_t(1)})
        expectLossOfWhole(wholeLoss(dtype, vocabulary, smoothing));
}

/// Masked logits, the columns of whole parts among them.
TEST(VocabularyLoss, MayHaveLogitsOfMinusInfinity) {
  for (DType dtype : dtypes) {
    Case whole = wholeLoss(dtype, columns, 0);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t j = 0; j < columns; ++j)
        if (double(j) != whole.inputs[1].get(t) && (j < 10 * t || j % 3 == t % 3))
          whole.inputs[0].set(t * columns + j, -infinity);
    expectLossOfWhole(whole);
  }
}

/// The bits of the loss do not depend on how many ranks have its parts.
TEST(VocabularyLoss, HasTheSameBitsOnAnyNumberOfRanks) {
  for (const CpuKernelBuild *build : buildsOf("loss_statistics")) {
    Case whole = wholeLoss(DType::F32, 50, 0.2);
    std::vector<Tensor> one = lossOfParts(whole, *build, 8, 1);
    for (int64_t ranks : {2, 4, 8}) {
      std::vector<Tensor> several = lossOfParts(whole, *build, 8, ranks);
      for (size_t o = 0; o < one.size(); ++o)
        EXPECT_EQ(one[o].bytes(), several[o].bytes()) << build->name << ", " << ranks << " ranks: output " << o;
    }
  }
}

/// A logit that is no number makes none of its token's loss, wherever it stands, and leaves other tokens alone.
TEST(VocabularyLoss, OfANanIsNan) {
  for (const CpuKernelBuild *build : buildsOf("loss_statistics"))
    for (int64_t column : {0, 7, 64, 119})
      for (bool isAlone : {false, true}) { // among logits of minus infinity
        Case whole = wholeLoss(DType::F32, columns, 0);
        for (int64_t j = 0; j < columns && isAlone; ++j)
          whole.inputs[0].set(columns + j, -infinity);
        whole.inputs[0].set(columns + column, NAN);
        std::vector<Tensor> got = lossOfParts(whole, *build, 8, 2);
        EXPECT_TRUE(std::isnan(got[0].get(0))) << build->name;
        for (int64_t t = 0; t < tokens; ++t)
          EXPECT_EQ(std::isnan(got[2].get(t)), t == 1) << build->name << ": token " << t;
      }
}
