//===- test/e2e/WindowTest.cpp - padded and fused weights, as users see them -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the plan holds, its facts and variables are those of the model: padding is in
// none of them, and the parts of a fused weight are one. (EquivalenceTest.cpp and
// SweepTest.cpp compare what is computed with one rank.)
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Job.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

plan::Plan compileNano(const std::string &importFlags, const std::string &flags) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / "nano.yaml", "--dtype=f64 --seed=7 " + flags,
                       importFlags);
}

constexpr const char *paddedGrids[] = {"--tp=2 --micro-batch-samples=2", "--tp=4 --sp --micro-batch-samples=2",
                                       "--vocabulary-multiple=128 --micro-batch-samples=2",
                                       "--tp=2 --pp=2 --dp=2 --vocabulary-multiple=100",
                                       "--dp=2 --zero=3 --vocabulary-multiple=64"};

/// One step with learning rate 0.01; the tokens depend on the vocabulary alone.
StepMetrics step(Job &job, const plan::Plan &plan) {
  TokenPattern inputs(plan, 1e-2, IgnoredLabels::None);
  StepMetrics metrics = job.runStep(inputs);
  job.verifyCopiesEqual(); // padding is 0 as well
  return metrics;
}

} // namespace

TEST(PaddedVocabulary, IsInNoFactOfThePlan) {
  plan::Plan expected = compileNano("--vocabulary=257", "--micro-batch-samples=2");
  for (const char *grid : paddedGrids) {
    plan::Plan padded = compileNano("--vocabulary=257", grid);
    EXPECT_EQ(padded.training().vocabulary(), 257) << grid;
    EXPECT_EQ(padded.training().model_parameters(), expected.training().model_parameters()) << grid;
    double samples = 0;
    for (const plan::MeshAxis &axis : padded.mesh().axes())
      if (axis.name() == "dp")
        samples = double(axis.size() * padded.training().micro_batch_samples());
    EXPECT_EQ(padded.training().model_flops_per_step() / samples, expected.training().model_flops_per_step() / 2)
        << grid;
  }
}

TEST(PaddedVocabulary, VariablesHaveTheModelsShapeAndFirstValues) {
  plan::Plan plain = compileNano("--vocabulary=257", "");
  Job expected(plain, {});
  expected.initializeVariables();
  for (const char *grid : paddedGrids) {
    plan::Plan padded = compileNano("--vocabulary=257", grid);
    Job job(padded, {});
    job.initializeVariables();
    EXPECT_EQ(job.variableNames(), expected.variableNames()) << grid;
    for (const char *name : {"embed.weight", "embed.weight.moment1"}) {
      EXPECT_EQ(job.readVariable(name).shape, (std::vector<int64_t>{257, 64})) << grid;
      EXPECT_EQ(job.readVariable(name).bytes, expected.readVariable(name).bytes) << grid;
    }
  }
}

// Where all logits are equal the loss is log V: not log of the padded size, and not log tp away from it.
TEST(PaddedVocabulary, UniformLogitsCostLogV) {
  for (int vocabulary : {257, 251, 64, 3})
    for (const char *grid : paddedGrids) {
      plan::Plan plan = compileNano("--vocabulary=" + std::to_string(vocabulary), grid);
      Job job(plan, {});
      job.initializeVariables();
      LogicalTensor table = job.readVariable("embed.weight");
      std::memset(table.bytes.data(), 0, table.bytes.size());
      job.writeVariable("embed.weight", table);
      double loss = step(job, plan).loss, expected = std::log(double(vocabulary));
      EXPECT_NEAR(loss, expected, 4e-15 * expected) << grid; // a few roundings of values near log V
    }
}

namespace {

/// The rows of the parts, one below the other.
LogicalTensor stacked(const Job &job, const std::vector<std::string> &parts) {
  LogicalTensor whole = job.readVariable(parts.front());
  for (size_t i = 1; i < parts.size(); ++i) {
    LogicalTensor part = job.readVariable(parts[i]);
    whole.shape[0] += part.shape[0];
    whole.bytes.insert(whole.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  return whole;
}

/// Where a model has one weight, another has several.
struct Fusion {
  std::string fused;
  std::vector<std::string> parts;
};

std::vector<Fusion> fusionsOf(int layers, const std::string &suffix) {
  std::vector<Fusion> fusions;
  for (int layer = 0; layer < layers; ++layer) {
    std::string scope = "layers." + std::to_string(layer);
    auto name = [&](const char *weight) { return scope + weight + ".weight" + suffix; };
    fusions.push_back({name(".attn.qkv"), {name(".attn.q"), name(".attn.k"), name(".attn.v")}});
    fusions.push_back({name(".mlp.gate_up"), {name(".mlp.gate"), name(".mlp.up")}});
  }
  return fusions;
}

} // namespace

// The fused model computes the bits of the other one, given its values.
TEST(FusedWeights, AreTheirParts) {
  for (const char *grid : {"--micro-batch-samples=2", "--tp=2 --sp", "--tp=2 --pp=2 --dp=2", "--dp=2 --zero=3"}) {
    plan::Plan plain = compileNano("", grid), fusedPlan = compileNano("--fused-qkv=true --fused-gate-up=true", grid);
    Job expected(plain, {}), fused(fusedPlan, {});
    expected.initializeVariables();
    fused.initializeVariables();
    std::vector<std::string> names = fused.variableNames();
    EXPECT_EQ(std::count(names.begin(), names.end(), "layers.0.attn.qkv.weight"), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), "layers.0.attn.q.weight"), 0);
    for (const Fusion &fusion : fusionsOf(4, ""))
      fused.writeVariable(fusion.fused, stacked(expected, fusion.parts));
    StepMetrics expectedMetrics = step(expected, plain), metrics = step(fused, fusedPlan);
    EXPECT_EQ(metrics.loss, expectedMetrics.loss) << grid;
    // The squares of more or fewer tensors are added in another order.
    EXPECT_NEAR(metrics.gradNorm, expectedMetrics.gradNorm, 1e-14 * expectedMetrics.gradNorm) << grid;
    for (const char *suffix : {"", ".moment1", ".moment2"})
      for (const Fusion &fusion : fusionsOf(4, suffix)) {
        Values a = valuesOf(fused.readVariable(fusion.fused)), b = valuesOf(stacked(expected, fusion.parts));
        ASSERT_EQ(a.size(), b.size()) << fusion.fused;
        EXPECT_LE(largestDifference(a, b), 1e-12 * largest(b)) << fusion.fused << " " << grid;
      }
  }
}

// One stream of first values for the whole, whatever it is cut into.
TEST(FusedWeights, StartAsOneTensor) {
  plan::Plan one = compileNano("--fused-qkv=true", ""), grid = compileNano("--fused-qkv=true", "--tp=4 --dp=2");
  Job a(one, {}), b(grid, {});
  a.initializeVariables();
  b.initializeVariables();
  EXPECT_EQ(a.readVariable("layers.1.attn.qkv.weight").bytes, b.readVariable("layers.1.attn.qkv.weight").bytes);
  EXPECT_EQ(a.readVariable("layers.1.attn.qkv.weight").shape, (std::vector<int64_t>{64 + 2 * 32, 64}));
}
