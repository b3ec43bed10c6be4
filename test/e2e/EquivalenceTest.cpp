//===- test/e2e/EquivalenceTest.cpp - every grid computes what one rank computes -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs three training steps of the nano models in f64 on many grids, compiled by the
// tools themselves, and compares loss, gradient norm, every gradient, parameter and
// moment with the plan of one rank, after each step. SweepTest.cpp draws many more
// models and grids, in one process.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Comparison.h"
#include "test/e2e/CompiledModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr TrainingSettings settings{.steps = 3};
constexpr double tolerance = 1e-10;

std::vector<Snapshot> trainModel(const std::string &model, const std::string &flags) {
  std::filesystem::path recipe = std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml");
  return train(compileRecipe(recipe, "--dtype=f64 --seed=7 " + flags), settings);
}

/// The plan of one rank, trained once a model.
const std::vector<Snapshot> &reference(const std::string &model) {
  static std::map<std::string, std::vector<Snapshot>> references;
  auto found = references.find(model);
  if (found == references.end())
    found = references.emplace(model, trainModel(model, "--micro-batches=1 --micro-batch-samples=16")).first;
  return found->second;
}

/// A grid and how it deals out the 16 samples of a step.
struct Grid {
  int tp, pp, dp;
  bool sp;
  int microBatches;
  const char *recompute = "none";

  std::string flags() const {
    return "--tp=" + std::to_string(tp) + " --pp=" + std::to_string(pp) + " --dp=" + std::to_string(dp) +
           (sp ? " --sp" : "") + " --recompute=" + recompute + " --micro-batches=" + std::to_string(microBatches) +
           " --micro-batch-samples=" + std::to_string(16 / dp / microBatches);
  }
  std::string name() const {
    return "tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" + std::to_string(dp) + (sp ? "sp" : "") + "m" +
           std::to_string(microBatches) + (recompute == std::string("none") ? "" : std::string("_") + recompute);
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

class EquivalenceTest : public testing::TestWithParam<std::tuple<std::string, Grid>> {
protected:
  static inline WorstErrors worst;
  static void TearDownTestSuite() { std::printf("%s", worst.text().c_str()); }
};

} // namespace

TEST_P(EquivalenceTest, EqualsOneRank) {
  const auto &[model, grid] = GetParam();
  std::vector<Difference> differences =
      compare(trainModel(model, grid.flags()), reference(model), settings.learningRate);
  for (const Difference &difference : differences)
    EXPECT_LE(difference.error, tolerance) << difference.text();
  worst.note(differences, model + " " + grid.name());
}

INSTANTIATE_TEST_SUITE_P(Grids, EquivalenceTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(grids())),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
