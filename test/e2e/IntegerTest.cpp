//===- test/e2e/IntegerTest.cpp - exact sums are exact on every grid -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a step of integers (IntegerModel.h) in f32 on many grids, through the sharding,
// pipeline and plan phases of the compiler. Every sum of it has terms whose magnitudes
// add up to less than 2^24, so no order of summation rounds: collectives, linears, their
// gradients and the embedding must give the very integers, on every grid.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Job.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/e2e/IntegerModel.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr int64_t samples = 12;

plan::Plan compile(InProcessCompiler &compiler, const CompileOptions &options) {
  auto module = compiler.parse(IntegerModel::program(options.microBatchSamples * options.dp));
  compiler.runPhases(*module, options, "training", "plan");
  return compiler.emit(*module, options);
}

LogicalTensor tensorOf(const IntegerMatrix &matrix) {
  LogicalTensor tensor{DType::F32, {matrix.rows, matrix.columns}, {}};
  tensor.bytes.resize(matrix.values.size() * sizeof(float));
  for (size_t i = 0; i < matrix.values.size(); ++i)
    storeElement(tensor.view(), static_cast<double>(matrix.values[i]), i);
  return tensor;
}

/// The tokens of a step, all samples in order.
std::vector<int32_t> tokensOf(const plan::Plan &oneRank) {
  std::vector<int32_t> tokens(samples * IntegerModel::sequence);
  TensorView view;
  view.data = tokens.data();
  view.dtype = DType::I32;
  view.rank = 2;
  view.shape[0] = samples;
  view.shape[1] = IntegerModel::sequence;
  TokenPattern(oneRank, 0).fill("tokens", 0, 0, view);
  return tokens;
}

void expectExact(const Values &actual, const IntegerMatrix &expected, const std::string &name) {
  EXPECT_EQ(actual, Values(expected.values.begin(), expected.values.end())) << name;
}

/// Runs the step on a grid and compares every number.
void expectExactStep(const plan::Plan &plan, const IntegerModel &before, const IntegerModel &after) {
  Job job(plan);
  job.initializeVariables();
  for (const auto &[name, matrix] : before.getWeights())
    job.writeVariable(name, tensorOf(matrix));
  TokenPattern inputs(plan, 0);
  const StepMetrics &metrics = job.runStep(inputs);
  EXPECT_EQ(metrics.loss, static_cast<double>(after.lossSum));
  EXPECT_EQ(metrics.gradNorm, static_cast<double>(after.gradientSquares));
  for (const auto &[name, matrix] : after.getWeights()) {
    expectExact(valuesOf(job.readVariable(name)), matrix, name);
    expectExact(valuesOf(job.readVariable(name + ".gradient")), after.gradients.at(name), name + ".gradient");
  }
  job.verifyCopiesEqual();
}

} // namespace

TEST(IntegerTest, EveryGridGivesTheIntegers) {
  InProcessCompiler compiler;
  CompileOptions options;
  options.microBatchSamples = samples;
  IntegerModel before, after;
  after.step(tokensOf(compile(compiler, options)));
  ASSERT_LT(after.largestSum, 1 << 24);
  ASSERT_GT(after.largestSum, 1 << 12); // not a model of zeros
  int grids = 0;
  for (int64_t tp : {1, 2, 4})
    for (bool sp : {false, true})
      for (int64_t dp : {1, 2, 3})
        for (int64_t pp : {1, 2})
          for (int64_t microBatches : {1, 2, 4}) {
            if (samples % (dp * microBatches) != 0 || (sp && tp == 1) || tp * dp * pp > 12)
              continue;
            options.tp = tp;
            options.dp = dp;
            options.pp = pp;
            options.sequenceParallel = sp;
            options.microBatches = microBatches;
            options.microBatchSamples = samples / dp / microBatches;
            SCOPED_TRACE("tp " + std::to_string(tp) + (sp ? " sp" : "") + " dp " + std::to_string(dp) + " pp " +
                         std::to_string(pp) + " micro-batches " + std::to_string(microBatches));
            expectExactStep(compile(compiler, options), before, after);
            ++grids;
          }
  EXPECT_GE(grids, 60);
}
