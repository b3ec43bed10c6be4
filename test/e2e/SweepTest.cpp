//===- test/e2e/SweepTest.cpp - drawn models on drawn grids equal one rank -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws models and, for each, grids (Configuration.cpp), trains two steps in f64 and
// compares loss, gradient norm, every gradient, parameter and moment with the plan of
// one rank (Comparison.h) after each step. Prints the worst error of each quantity with
// its configuration. The draws follow from the seed alone.
//
//   TGPT_SWEEP_CONFIGURATIONS=5000 TGPT_SWEEP_SEED=2 build/test/unit/test-sweep
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Comparison.h"
#include "test/e2e/Configuration.h"
#include "test/e2e/Features.h"
#include "test/e2e/InProcessCompiler.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <map>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr double tolerance = 1e-10; // Comparison.h says why
constexpr int gridsPerModel = 6;

class Sweep {
public:
  explicit Sweep(uint64_t seed) : draw(seed) {}

  void run(int64_t configurations) {
    for (int64_t done = 0; done < configurations;) {
      Configuration model = draw.model();
      std::vector<Snapshot> expected = train(model);
      for (int i = 0; i < gridsPerModel && done < configurations; ++i, ++done)
        runOne(draw.grid(model), expected);
    }
  }

  /// How often a feature was drawn.
  const std::map<std::string, int64_t> &getDrawn() const { return drawn; }
  const WorstErrors &getWorst() const { return worst; }

private:
  std::vector<Snapshot> train(const Configuration &configuration) {
    TrainingSettings settings;
    settings.ignored = configuration.ignored;
    return runtime::train(compiler.compile(configuration.model, configuration.options), settings);
  }

  void runOne(const Configuration &configuration, const std::vector<Snapshot> &expected) {
    for (const auto &[feature, has] : featuresOf(configuration))
      drawn[feature] += has;
    try {
      std::vector<Difference> differences = compare(train(configuration), expected, TrainingSettings().learningRate);
      for (const Difference &difference : differences)
        EXPECT_LE(difference.error, tolerance) << difference.text() << "\n" << configuration.text();
      worst.note(differences, configuration.text());
    } catch (const std::exception &error) {
      ADD_FAILURE() << error.what() << "\n" << configuration.text();
    }
  }

  InProcessCompiler compiler;
  ConfigurationDraw draw;
  std::map<std::string, int64_t> drawn;
  WorstErrors worst;
};

} // namespace

TEST(SweepTest, EveryDrawEqualsOneRank) {
  int64_t configurations = numberFromEnvironment("TGPT_SWEEP_CONFIGURATIONS", 450);
  Sweep sweep(numberFromEnvironment("TGPT_SWEEP_SEED", 1));
  sweep.run(configurations);
  std::printf("%lld configurations\n%s", static_cast<long long>(configurations), sweep.getWorst().text().c_str());
  for (const auto &[feature, times] : sweep.getDrawn()) {
    std::printf("%6lld with %s\n", static_cast<long long>(times), feature.c_str());
    EXPECT_GE(times, (configurations - 150) / 100) << "the draws hardly meet: " << feature;
  }
}
