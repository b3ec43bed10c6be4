//===- test/e2e/EquivalenceTest.cpp - every grid computes what one rank computes -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs three training steps of the nano models in f64 on many grids and compares
// loss, gradient norm, every gradient, parameter and moment with the plan of one
// rank, after each step.
//
// Tolerance 1e-10: the grids add up the same numbers in another order. A sum of n
// terms in f64 differs by at most n 1.1e-16 of the sum of magnitudes; n is below
// 1e5 here and the models are shallow. Errors are relative to the largest element
// of the tensor, but not below a floor: 1e-3 of the largest gradient of the model
// for gradients (what is zero in exact arithmetic, such as the gradient of GPT-2's
// key bias, is rounding noise of larger terms), its square for second moments, and
// the learning rate for parameters, since AdamW moves an element by up to that.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr int steps = 3;
constexpr double learningRate = 1e-2;
constexpr double tolerance = 1e-10;

using Role = plan::Variable::Role;

struct Tensor {
  Role role;
  Values values;
};

/// What one step left behind.
struct Snapshot {
  double loss = 0, gradNorm = 0, tokenCount = 0;
  std::map<std::string, Tensor> variables;
  std::map<Role, double> largestOfRole;

  /// The magnitude below which a difference does not count (see the top).
  double floorOf(Role role) const {
    switch (role) {
    case plan::Variable::GRADIENT:
    case plan::Variable::MOMENT1: return 1e-3 * largestOfRole.at(role);
    case plan::Variable::MOMENT2: return 1e-6 * largestOfRole.at(role);
    default: return learningRate;
    }
  }
};

/// Trains and keeps a snapshot a step.
std::vector<Snapshot> train(const std::string &model, const std::string &flags) {
  Job job(compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml"), "--dtype=f64 --seed=7 " + flags));
  job.initializeVariables();
  TokenPattern inputs(job.plan(), learningRate);
  std::vector<Snapshot> snapshots;
  for (inputs.step = 1; inputs.step <= steps; ++inputs.step) {
    const StepMetrics &metrics = job.runStep(inputs);
    Snapshot snapshot{metrics.loss, metrics.gradNorm, metrics.tokenCount, {}, {}};
    for (const std::string &name : job.variableNames()) {
      Role role = job.variable(name).role();
      Tensor &tensor = snapshot.variables[name] = {role, valuesOf(job.readVariable(name))};
      snapshot.largestOfRole[role] = std::max(snapshot.largestOfRole[role], largest(tensor.values));
    }
    job.verifyCopiesEqual();
    snapshots.push_back(std::move(snapshot));
  }
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    EXPECT_EQ(job.highWaterBytes(rank), job.plannedBytes(rank)) << job.describeRank(rank);
  return snapshots;
}

/// The plan of one rank, trained once a model and number of samples.
const std::vector<Snapshot> &reference(const std::string &model, int samples) {
  static std::map<std::pair<std::string, int>, std::vector<Snapshot>> references;
  auto found = references.find({model, samples});
  if (found == references.end()) {
    std::string flags = "--micro-batches=1 --micro-batch-samples=" + std::to_string(samples);
    found = references.emplace(std::pair(model, samples), train(model, flags)).first;
  }
  return found->second;
}

/// A grid and how it deals out the samples of a step.
struct Grid {
  int tp, pp, dp;
  bool sp;
  int microBatches;
  const char *recompute = "none";
  int zero = 0;
  int bucketMib = 25; // holds all of a nano model; 0: a bucket a layer

  /// 16 samples, or 12 where dp has a factor of three.
  int samples() const { return dp % 3 == 0 ? 12 : 16; }
  std::string flags() const {
    return "--tp=" + std::to_string(tp) + " --pp=" + std::to_string(pp) + " --dp=" + std::to_string(dp) +
           (sp ? " --sp" : "") + " --recompute=" + recompute + " --micro-batches=" + std::to_string(microBatches) +
           " --micro-batch-samples=" + std::to_string(samples() / dp / microBatches) +
           (zero ? " --zero=" + std::to_string(zero) + " --zero-bucket-mib=" + std::to_string(bucketMib) : "");
  }
  std::string name() const {
    return "tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" + std::to_string(dp) + (sp ? "sp" : "") + "m" +
           std::to_string(microBatches) + (recompute == std::string("none") ? "" : std::string("_") + recompute) +
           (zero ? "zero" + std::to_string(zero) + (bucketMib == 0 ? "layers" : "") : "");
  }
};

std::vector<Grid> grids() {
  std::vector<Grid> all;
  for (int tp : {1, 2})
    for (int pp : {1, 2})
      for (int dp : {1, 2})
        for (bool sp : {false, true})
          all.push_back({tp, pp, dp, sp, 4});
  all.push_back({4, 1, 1, false, 2});
  all.push_back({4, 1, 2, true, 1});
  all.push_back({1, 4, 1, false, 8});
  all.push_back({2, 4, 1, true, 2});  // fewer micro-batches than stages
  all.push_back({1, 3, 1, false, 4}); // stages of unequal depth
  for (const char *recompute : {"selective", "full"}) {
    all.push_back({2, 1, 2, false, 4, recompute});
    all.push_back({2, 2, 1, true, 4, recompute});
    all.push_back({1, 3, 2, false, 2, recompute});
  }
  return all;
}

/// The same with optimizer states, gradients and parameters shared out over dp.
std::vector<Grid> zeroGrids() {
  std::vector<Grid> all;
  for (int zero : {1, 2, 3}) {
    for (int tp : {1, 2})
      for (int pp : {1, 2})
        for (int dp : {2, 3})
          all.push_back({tp, pp, dp, /*sp=*/tp > 1 && dp == 2, 2, "none", zero, pp == 1 ? 25 : 0});
    all.push_back({1, 1, 4, false, 1, "none", zero, 0});
    all.push_back({2, 1, 4, true, 1, "selective", zero});
    all.push_back({1, 1, 6, false, 2, "none", zero});
    all.push_back({1, 4, 2, false, 4, "none", zero}); // a stage a layer; the tied embedding on the first and last
    all.push_back({2, 2, 3, true, 1, "full", zero});
  }
  return all;
}

class EquivalenceTest : public testing::TestWithParam<std::tuple<std::string, Grid>> {};

/// Keeps the worst error of each quantity, over all grids of this program.
void note(const std::string &quantity, double error, const std::string &where) {
  static std::map<std::string, double> worst;
  double &known = worst[quantity];
  if (error > known) {
    known = error;
    std::printf("worst error of %-14s %.2e  %s\n", (quantity + ":").c_str(), error, where.c_str());
  }
}

} // namespace

TEST_P(EquivalenceTest, EqualsOneRank) {
  const auto &[model, grid] = GetParam();
  const std::vector<Snapshot> &expected = reference(model, grid.samples());
  std::vector<Snapshot> actual = train(model, grid.flags());
  for (int step = 0; step < steps; ++step) {
    const Snapshot &a = actual[step], &e = expected[step];
    EXPECT_EQ(a.tokenCount, e.tokenCount);
    EXPECT_NEAR(a.loss, e.loss, tolerance * e.loss) << "step " << step + 1;
    EXPECT_NEAR(a.gradNorm, e.gradNorm, tolerance * e.gradNorm) << "step " << step + 1;
    note("loss", std::abs(a.loss - e.loss) / e.loss, grid.name());
    note("grad_norm", std::abs(a.gradNorm - e.gradNorm) / e.gradNorm, grid.name());
    ASSERT_EQ(a.variables.size(), e.variables.size());
    for (const auto &[name, tensor] : e.variables) {
      const Values &found = a.variables.at(name).values;
      ASSERT_EQ(found.size(), tensor.values.size()) << name;
      double error = largestDifference(found, tensor.values) / std::max(largest(tensor.values), e.floorOf(tensor.role));
      EXPECT_LE(error, tolerance) << name << " after step " << step + 1;
      note(plan::Variable::Role_Name(tensor.role), error, grid.name() + " " + name);
    }
  }
}

static std::string nameOf(const testing::TestParamInfo<std::tuple<std::string, Grid>> &info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Grids, EquivalenceTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(grids())), nameOf);
INSTANTIATE_TEST_SUITE_P(Zero, EquivalenceTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(zeroGrids())),
                         nameOf);
