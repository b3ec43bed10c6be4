//===- test/e2e/GoldenTest.cpp - training agrees with JAX -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the models of test/reference in f64, runs their 20 steps and compares
// loss, every gradient, gradient norms and weights with the numbers that JAX and
// optax gave (test/reference/README.md).
//
// Tolerances. One step in f64 is a few thousand roundings of 1.1e-16 deep at most,
// and the models are well-conditioned, so 1e-9 is far above rounding and far below
// any mistake in a formula; 20 steps amplify differences: 1e-8. Errors are measured
// against the largest element of the tensor, never below a floor: what is zero in
// exact arithmetic (the gradient of GPT-2's key biases) is rounding noise.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/Values.h"

#include "runtime/checkpoint/SafetensorsReader.h"
#include "runtime/engine/Job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// The numbers of one model, read whole.
class GoldenNumbers {
public:
  explicit GoldenNumbers(const std::string &family)
      : reader(std::filesystem::path(TGPT_REFERENCE_DIR) / (family + ".safetensors")) {
    for (const StoredTensor &tensor : reader.getHeader().tensors)
      values[tensor.name] = valuesOf(reader.read(tensor));
  }

  const Values &operator[](const std::string &name) const { return values.at(name); }
  int64_t steps() const { return reader.find("tokens")->shape[0]; }
  int64_t samples() const { return reader.find("tokens")->shape[1]; }
  int64_t sequence() const { return reader.find("tokens")->shape[2]; }

  std::vector<std::string> parameters() const {
    std::vector<std::string> names;
    for (const auto &[name, tensor] : values)
      if (name.starts_with("initial/"))
        names.push_back(name.substr(8));
    return names;
  }
  double largestOf(const std::string &kind) const {
    double magnitude = 0;
    for (const std::string &name : parameters())
      magnitude = std::max(magnitude, largest(values.at(kind + name)));
    return magnitude;
  }

private:
  SafetensorsReader reader;
  std::map<std::string, Values> values;
};

/// Feeds the golden tokens of the current step: sample (dpIndex * microBatches + microBatch) * rows + row.
class GoldenInputs : public StepInputs {
public:
  GoldenInputs(const GoldenNumbers &golden, int64_t microBatches) : golden(golden), microBatches(microBatches) {}

  int64_t step = 0;

  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override {
    if (input == "learning_rate")
      return storeElement(destination, golden["learning_rate"][step]);
    if (input == "step")
      return storeElement(destination, double(step + 1));
    int64_t firstSample = (dpIndex * microBatches + microBatch) * destination.dim(0);
    if (input == "samples") {
      for (int64_t row = 0; row < destination.dim(0); ++row)
        destination.as<int32_t>()[row] = int32_t(firstSample + row);
      return;
    }
    const Values &rows = golden[std::string(input)];
    int64_t first = (step * golden.samples() + firstSample) * golden.sequence();
    for (int64_t i = 0; i < destination.elements(); ++i)
      destination.as<int32_t>()[i] = int32_t(rows[first + i]);
  }

private:
  const GoldenNumbers &golden;
  int64_t microBatches;
};

struct Grid {
  const char *name;
  const char *flags;
  int64_t microBatches;

  friend void PrintTo(const Grid &grid, std::ostream *out) { *out << grid.flags; }
};

// Each splits the eight samples of a step over dp ranks, micro-batches and rows.
const Grid grids[] = {
    {"OneRank", "--micro-batches=2 --micro-batch-samples=4", 2},
    {"EightRanks", "--tp=2 --pp=2 --dp=2 --sp --micro-batches=2 --micro-batch-samples=2", 2},
};

class GoldenTest : public testing::TestWithParam<std::tuple<const char *, Grid>> {
protected:
  GoldenTest()
      : family(std::get<0>(GetParam())), grid(std::get<1>(GetParam())), golden(family),
        job(compileRecipe(std::filesystem::path(TGPT_REFERENCE_DIR) / (family + ".yaml"),
                          "--dtype=f64 --seed=1234 --max-grad-norm=1.0 --beta1=0.9 --beta2=0.95 --adam-epsilon=1e-8 "
                          "--weight-decay=0.1 " +
                              std::string(family == "regularized" ? "--label-smoothing=0.1 --z-loss=0.01 " : "") +
                              grid.flags)),
        inputs(golden, grid.microBatches) {
    job.initializeVariables();
  }

  Values read(const std::string &variable) { return valuesOf(job.readVariable(variable)); }

  // Compares each parameter, or a variable made of its name, with the golden tensor kind/NAME.
  void expectNear(const std::string &kind, const std::string &suffix, double divisor, double tolerance, double floor) {
    for (const std::string &name : golden.parameters()) {
      Values actual = read(name + suffix);
      const Values &expected = golden[kind + name];
      ASSERT_EQ(actual.size(), expected.size()) << name;
      for (double &value : actual)
        value /= divisor;
      EXPECT_LE(largestDifference(actual, expected), std::max(tolerance * largest(expected), floor)) << kind << name;
    }
  }

  std::string family;
  Grid grid;
  GoldenNumbers golden;
  Job job;
  GoldenInputs inputs;
};

constexpr double roundoff = 0x1p-53;

} // namespace

// The two draws differ by the last bits of log, sin and cos only: a few roundings of numbers below 10 stddev.
TEST_P(GoldenTest, FirstWeights) {
  double bound = 10 * 16 * roundoff * golden.largestOf("initial/");
  expectNear("initial/", "", 1, 0, bound);
}

TEST_P(GoldenTest, FirstStep) {
  const StepMetrics &metrics = job.runStep(inputs);
  EXPECT_NEAR(metrics.loss, golden["loss"][0], 1e-9 * golden["loss"][0]);
  EXPECT_NEAR(metrics.gradNorm, golden["grad_norm"][0], 1e-9 * golden["grad_norm"][0]);
  double valid = 0;
  for (int64_t i = 0; i < golden.samples() * golden.sequence(); ++i)
    valid += golden["labels"][i] >= 0;
  EXPECT_EQ(metrics.tokenCount, valid);
  // The state holds the gradient of the sum. A gradient that is zero in exact arithmetic keeps
  // some roundings of the terms that cancel.
  expectNear("gradient/", ".gradient", valid, 1e-9, 64 * roundoff * golden.largestOf("gradient/"));
}

// AdamW moves an element by up to the learning rate a step, whatever its size; so the floor is relative
// to the sum of the rates.
TEST_P(GoldenTest, TwentySteps) {
  const Values &rates = golden["learning_rate"];
  for (; inputs.step < golden.steps(); ++inputs.step) {
    const StepMetrics &metrics = job.runStep(inputs);
    double loss = golden["loss"][inputs.step], norm = golden["grad_norm"][inputs.step];
    EXPECT_NEAR(metrics.loss, loss, 1e-8 * loss) << "step " << inputs.step;
    EXPECT_NEAR(metrics.gradNorm, norm, 1e-8 * norm) << "step " << inputs.step;
    if (inputs.step == 0)
      expectNear("step1/", "", 1, 1e-8, 1e-8 * rates[0]);
  }
  expectNear("step20/", "", 1, 1e-8, 1e-8 * std::accumulate(rates.begin(), rates.end(), 0.0));
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest,
                         testing::Combine(testing::Values("llama", "gpt2", "regularized"), testing::ValuesIn(grids)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });
