//===- test/e2e/LossScaleTest.cpp - loss scaling, skipped steps and f16 -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product with a power of two is exact as long as nothing leaves the range of
// normal numbers, so a scaled run must have the very bits of one that is not. An
// overflow on one rank must skip the step on all, leaving every bit; the steps after
// it must be those of a run that never met it.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

using Bytes = std::vector<std::byte>;
using Role = plan::Variable::Role;

struct Grid {
  const char *name, *flags;
};

const Grid grids[] = {
    {"one", "--micro-batches=2 --micro-batch-samples=4"},
    {"tp2", "--tp=2 --micro-batches=2 --micro-batch-samples=4"},
    {"tp2sp", "--tp=2 --sp --micro-batches=2 --micro-batch-samples=4"},
    {"pp2", "--pp=2 --micro-batches=2 --micro-batch-samples=4"},
    {"dp2", "--dp=2 --micro-batches=2 --micro-batch-samples=2"},
    {"all", "--tp=2 --sp --pp=2 --dp=2 --micro-batches=2 --micro-batch-samples=2"},
    {"zero1", "--dp=2 --zero=1 --micro-batches=2 --micro-batch-samples=2"},
    {"zero3", "--tp=2 --sp --pp=2 --dp=2 --zero=3 --micro-batches=2 --micro-batch-samples=2"},
};

plan::Plan compile(const Grid &grid, const std::string &flags, const std::string &recipe = "nano") {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (recipe + ".yaml"),
                       "--seed=5 " + flags + " " + grid.flags);
}

/// Tokens as of one step, whatever step it is: `dataStep` 0 follows the step.
class Inputs : public StepInputs {
public:
  Inputs(const plan::Plan &plan, IgnoredLabels ignored) : tokens(plan, 3e-3, ignored), scalars(plan, 3e-3) {}

  int64_t step = 1, dataStep = 0;

  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override {
    (input == "tokens" || input == "labels" ? tokens : scalars).fill(input, dpIndex, microBatch, destination);
  }
  void setSteps() {
    scalars.step = step;
    tokens.step = dataStep ? dataStep : step;
  }

private:
  TokenPattern tokens, scalars;
};

/// The cpu kernels, but for one call of linear_wgrad on whatever rank comes to it: that leaves an infinity in its
/// result, the gradient of a weight, which no other rank of tp or pp and no other kernel sees.
class Poison {
public:
  static KernelSet kernels() {
    KernelSet kernels = cpuKernels();
    auto find = kernels.find;
    kernels.find = [find](std::string_view opcode, const KernelCall &call) {
      ResolvedKernel kernel = find(opcode, call);
      if (opcode == "linear_wgrad") {
        original = kernel.function;
        kernel.function = runPoisoned;
      }
      return kernel;
    };
    return kernels;
  }
  /// The call that is poisoned, counted from now on over all ranks.
  static void set(int64_t call) { callsLeft = call; }

private:
  static KernelStatus runPoisoned(const KernelCall &call) {
    KernelStatus status = original(call);
    if (callsLeft.fetch_sub(1) == 1)
      storeElement(call.outputs[0], INFINITY, call.outputs[0].elements() / 2);
    return status;
  }
  static inline std::atomic<KernelFunction> original = nullptr;
  static inline std::atomic<int64_t> callsLeft = 0;
};

/// A job and what its steps reported.
struct Trainer {
  explicit Trainer(const plan::Plan &plan, IgnoredLabels ignored = IgnoredLabels::Uneven, KernelSet kernels = {})
      : job(plan, {.kernels = std::move(kernels)}), inputs(plan, ignored) {
    job.initializeVariables();
  }
  StepMetrics run(int64_t step, int64_t dataStep = 0) {
    inputs.step = step, inputs.dataStep = dataStep;
    inputs.setSteps();
    StepMetrics metrics = job.runStep(inputs);
    job.verifyCopiesEqual();
    return metrics;
  }
  /// Everything that a step may change for good, by role.
  std::map<std::string, Bytes> kept() const {
    std::map<std::string, Bytes> kept;
    for (const std::string &name : job.variableNames()) {
      Role role = job.variable(name).role();
      if (role != plan::Variable::GRADIENT && role != plan::Variable::METRIC && role != plan::Variable::SCALING)
        kept[name] = job.readVariable(name).bytes;
    }
    return kept;
  }
  Values gradient(const std::string &parameter) const { return valuesOf(job.readVariable(parameter + ".gradient")); }

  Job job;
  Inputs inputs;
};

class LossScaleTest : public testing::TestWithParam<Grid> {};

} // namespace

TEST_P(LossScaleTest, APowerOfTwoKeepsTheBits) {
  for (const char *dtype : {"--dtype=f64", "--dtype=f32", "--dtype=bf16"}) {
    Trainer plain(compile(GetParam(), std::string(dtype) + " --loss-scale=none"));
    Trainer fixed(compile(GetParam(), std::string(dtype) + " --loss-scale=1024"));
    Trainer dynamic(compile(GetParam(), std::string(dtype) + " --loss-scale=dynamic --loss-scale-initial=256 "
                                                             "--loss-scale-growth-interval=2"));
    double scales[] = {256, 256, 512};
    for (int step = 1; step <= 3; ++step) {
      StepMetrics expected = plain.run(step), one = fixed.run(step), other = dynamic.run(step);
      for (const StepMetrics &metrics : {one, other}) {
        EXPECT_EQ(metrics.loss, expected.loss) << dtype;
        EXPECT_EQ(metrics.gradNorm, expected.gradNorm) << dtype;
        EXPECT_EQ(metrics.value("skipped_steps"), 0) << dtype;
      }
      EXPECT_TRUE(std::isnan(expected.value("loss_scale"))) << "a plan without scaling reports none";
      EXPECT_EQ(one.value("loss_scale"), 1024);
      EXPECT_EQ(other.value("loss_scale"), scales[step - 1]);
      EXPECT_EQ(plain.kept(), fixed.kept()) << dtype << " step " << step;
      EXPECT_EQ(plain.kept(), dynamic.kept()) << dtype << " step " << step;
    }
    Values unscaled = plain.gradient("layers.0.mlp.down.weight"), scaled = fixed.gradient("layers.0.mlp.down.weight");
    for (size_t i = 0; i < unscaled.size(); ++i)
      ASSERT_EQ(1024 * unscaled[i], scaled[i]);
  }
}

// One element of one gradient on one rank is infinite in one micro-batch of step 2.
TEST_P(LossScaleTest, AnInfinityOnOneRankSkipsTheStepOnAll) {
  for (const char *dtype : {"--dtype=f64", "--dtype=f16"}) {
    plan::Plan plan = compile(GetParam(), std::string(dtype) + " --loss-scale=dynamic --loss-scale-initial=64");
    for (int64_t poisoned : {1, 17, 40}) {
      Poison::set(0);
      Trainer trainer(plan, IgnoredLabels::Uneven, Poison::kernels()), straight(plan);
      trainer.run(1), straight.run(1);
      auto before = trainer.kept();
      ASSERT_EQ(before, straight.kept());
      Poison::set(poisoned);
      StepMetrics skipped = trainer.run(2);
      EXPECT_TRUE(std::isfinite(skipped.loss));
      EXPECT_FALSE(std::isfinite(skipped.gradNorm)) << dtype << " call " << poisoned;
      EXPECT_EQ(skipped.value("skipped_steps"), 1);
      EXPECT_EQ(trainer.kept(), before) << dtype << " call " << poisoned;
      // Step 3 is the second of the optimizer, at half the scale.
      StepMetrics third = trainer.run(3), second = straight.run(2, /*dataStep=*/3);
      EXPECT_EQ(third.value("loss_scale"), 32);
      EXPECT_EQ(third.value("skipped_steps"), 1);
      EXPECT_EQ(third.loss, second.loss);
      if (dtype == std::string("--dtype=f64")) {
        EXPECT_EQ(trainer.kept(), straight.kept()) << "a skipped step leaves no trace";
      }
    }
  }
}

// All labels but one are ignored, so that the gradient of the logits is 0 everywhere but in one row, and in that row
// -2^17 (1 - 1/256) at the label, beyond the range of f16, and 2^17/256 elsewhere, within it: of the ranks of dp one
// overflows, and of those of tp one first.
TEST_P(LossScaleTest, AnOverflowOfF16SkipsTheStepOnAllRanks) {
  std::string flags = "--dtype=f16 --loss-scale-backoff=0.015625 --loss-scale-initial=";
  Trainer trainer(compile(GetParam(), flags + "131072"), IgnoredLabels::AllButOne);
  auto before = trainer.kept();
  StepMetrics skipped = trainer.run(1);
  EXPECT_TRUE(std::isfinite(skipped.loss));
  EXPECT_FALSE(std::isfinite(skipped.gradNorm));
  EXPECT_EQ(skipped.value("loss_scale"), 131072);
  EXPECT_EQ(skipped.value("skipped_steps"), 1);
  EXPECT_EQ(trainer.kept(), before) << "a skipped step changes no bit";

  // The next step is the first of the optimizer: that of a run which starts with it.
  Trainer fresh(compile(GetParam(), flags + "2048"), IgnoredLabels::AllButOne);
  StepMetrics second = trainer.run(2), first = fresh.run(1, /*dataStep=*/2);
  EXPECT_EQ(second.value("loss_scale"), 2048);
  EXPECT_EQ(second.value("skipped_steps"), 1);
  EXPECT_TRUE(std::isfinite(second.gradNorm));
  EXPECT_EQ(second.loss, first.loss);
  EXPECT_EQ(second.gradNorm, first.gradNorm);
  EXPECT_NE(trainer.kept(), before);
  EXPECT_EQ(trainer.kept(), fresh.kept()) << "the skipped step does not count in the bias correction";
}

// Whatever the dtype: a NaN in the gradients of one step leaves no trace.
TEST_P(LossScaleTest, WiderTypesSkipToo) {
  for (auto [dtype, scale] :
       {std::pair("--dtype=f64", "1e308"), std::pair("--dtype=f32", "1e38"), std::pair("--dtype=bf16", "1e38")}) {
    for (const char *mode : {"--loss-scale=dynamic --loss-scale-initial=", "--loss-scale="}) {
      Trainer trainer(compile(GetParam(), std::string(dtype) + " " + mode + scale));
      auto before = trainer.kept();
      for (int step = 1; step <= 2; ++step)
        EXPECT_EQ(trainer.run(step).value("skipped_steps"), step) << dtype << " " << mode;
      EXPECT_EQ(trainer.kept(), before) << dtype << " " << mode;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, LossScaleTest, testing::ValuesIn(grids),
                         [](const auto &info) { return info.param.name; });

// The rule of torch.amp.GradScaler, step by step, through overflows and growth.
TEST(LossScale, FollowsTheRule) {
  Trainer trainer(compile(grids[1], "--dtype=f16 --loss-scale-initial=16777216 --loss-scale-backoff=0.25 "
                                    "--loss-scale-growth=4 --loss-scale-growth-interval=3"));
  double scale = 16777216, skipped = 0;
  int good = 0, grown = 0;
  for (int step = 1; step <= 24; ++step) {
    StepMetrics metrics = trainer.run(step);
    ASSERT_EQ(metrics.value("loss_scale"), scale) << "step " << step;
    if (!std::isfinite(metrics.gradNorm)) {
      scale *= 0.25, good = 0, ++skipped;
    } else if (++good == 3) {
      scale *= 4, good = 0, ++grown;
    }
    ASSERT_EQ(metrics.value("skipped_steps"), skipped) << "step " << step;
  }
  EXPECT_GE(skipped, 3) << "2^24 and the first growth are too large";
  EXPECT_GE(grown, 2);
}

// On one batch again and again the loss falls as far in f16 as in f32. The two differ by the roundings of a step's
// forward (a few of the loss's 2^-12 relative each, as LowPrecisionTracksHighPrecision says) and by their weights: a
// gradient made of some dozens of roundings of 2^-11 has a relative error of 32 2^-11 = 1.6%, and so the way the
// weights go from step to step, and so what the loss has lost by then.
TEST(LossScale, F16TrainsAsF32Does) {
  for (const char *recipe : {"nano", "nano-gpt2"})
    for (const Grid &grid : {grids[0], grids[5]}) {
      Trainer half(compile(grid, "--dtype=f16", recipe)), single(compile(grid, "--dtype=f32", recipe));
      double start = 0, low = 0, high = 0;
      int skipped = 0;
      // Steps that the dynamic scale skips change nothing, so they are none of the 30.
      for (int applied = 1; applied <= 30;) {
        StepMetrics metrics = half.run(applied + skipped, 1);
        if (!std::isfinite(metrics.gradNorm)) {
          ASSERT_LE(++skipped, 16) << recipe << " on " << grid.name;
          continue;
        }
        low = metrics.loss, high = single.run(applied, 1).loss;
        if (applied == 1)
          start = high;
        ASSERT_NEAR(low, high, 4 * 0x1p-12 * start + 32 * 0x1p-11 * (start - high))
            << recipe << " on " << grid.name << ", step " << applied;
        ++applied;
      }
      EXPECT_LT(low, start - 0.5) << recipe << " on " << grid.name;
      std::printf("%s on %s: %.4f -> f16 %.4f, f32 %.4f, %lld skipped\n", recipe, grid.name, start, low, high,
                  static_cast<long long>(skipped));
    }
}
