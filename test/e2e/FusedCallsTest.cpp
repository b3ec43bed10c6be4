//===- test/e2e/FusedCallsTest.cpp - plans whose calls are done together -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models on emulated devices, with calls that are one, and with every call by itself.
//
//   - Pairs that products do with their epilogues round once where two calls round twice: the
//     loss, of 10 to 20 roundings of logits below 1, may differ by some of them (unit 6e-8
//     and 4e-3), the gradient's norm, of sums of some hundred terms, by as many relative units.
//   - Norms with the residual's sum, losses with their gradient, and launches for many tensors,
//     change no bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "runtime/kernels/cuda/emulation/Emulator.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/Outcome.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {
enum class Fused { Nothing, Groups, All };

struct Trained {
  Outcome outcome;
  std::map<std::string, FusedCount> counts;
  uint64_t launches = 0;
};
} // namespace

static std::filesystem::path recipe(const std::string &name) {
  return std::filesystem::path(TGPT_RECIPES_DIR) / (name + ".yaml");
}

static plan::Plan compileNano(const std::string &name, const std::string &flags) {
  return compileRecipe(recipe(name), "--seed=5 " + flags, "--sequence-length=16");
}

static JobOptions optionsOf(Fused fused) {
  auto backend = std::make_shared<DeviceBackend>(*emulatedBackend());
  if (fused == Fused::Nothing)
    backend->fuse = nullptr;
  if (fused == Fused::Groups)
    useFusedKernels(*backend, {}, cuda::emulated::productTable());
  JobOptions options;
  options.device.backend = backend;
  return options;
}

static Trained train(const plan::Plan &plan, Fused fused, int steps = 2) {
  JobOptions options = optionsOf(fused);
  Trained trained;
  uint64_t before = emulation::counts().launches;
  trained.outcome = outcomeOf(plan, options, steps);
  trained.launches = emulation::counts().launches - before;
  trained.counts = Job(plan, options).fusedCalls();
  return trained;
}

/// "adamw 2 of 68" for each kind.
static std::string text(const std::map<std::string, FusedCount> &counts) {
  std::string text;
  for (const auto &[name, count] : counts)
    text += name + " " + std::to_string(count.calls) + " of " + std::to_string(count.instructions) + "\n";
  return text;
}

/// Of each of 4 layers: gelu, its gradient, and the gradients of six biases.
TEST(FusedCalls, TrainAsThoseThatAreNot) {
  for (auto [flags, unit] : {std::pair("--dtype=f32", 6e-8), {"--dtype=bf16 --tp=2", 4e-3}}) {
    plan::Plan plan = compileNano("nano-gpt2", std::string("--micro-batches=2 ") + flags);
    Trained fused = train(plan, Fused::All), apart = train(plan, Fused::Nothing);
    EXPECT_TRUE(apart.counts.empty());
    int64_t pairs = fused.counts["linear, gelu"].calls + fused.counts["linear_dgrad, gelu_grad"].calls +
                    fused.counts["linear_wgrad, sum_leading"].calls;
    EXPECT_GT(pairs, 0) << flags;
    EXPECT_EQ(pairs % 32, 0) << flags;
    for (size_t step = 0; step < 2; ++step) {
      double norm = apart.outcome.norms[step];
      EXPECT_NEAR(fused.outcome.losses[step], apart.outcome.losses[step], 30 * unit) << flags << ", step " << step + 1;
      EXPECT_NEAR(fused.outcome.norms[step], norm, 100 * unit * norm) << flags << ", step " << step + 1;
    }
    EXPECT_NE(fused.outcome.norms, apart.outcome.norms) << flags << ": the pairs round once";
  }
}

/// A product rounds as it likes: in f64 and where an order is asked for there are no pairs.
TEST(FusedCalls, NoProductsWhereAnOrderIsAskedFor) {
  for (const char *flags :
       {"--dtype=f32 --reduction=canonical --micro-batches=2 --micro-batch-samples=2", "--dtype=f64"})
    for (const auto &[name, count] : Job(compileNano("nano-gpt2", flags), optionsOf(Fused::All)).fusedCalls())
      EXPECT_EQ(name.find("linear"), std::string::npos) << flags << ": " << name;
}

/// LLaMA has neither gelu nor biases, but residuals, norms and parameters. Each layer has two norms, and the model a
/// last one: each reads a sum, but for the first, which reads the embedding; and each gradient is added to one, but
/// for the last's. The loss has its gradient behind it.
TEST(FusedCalls, ALlamaHasNormsAndParameters) {
  EXPECT_EQ(text(Job(compileNano("nano", "--dtype=bf16"), optionsOf(Fused::All)).fusedCalls()),
            "adamw, cast 2 of 76\nadd, rms_norm 8 of 16\ncross_entropy, cross_entropy_grad 1 of 2\n"
            "fill 1 of 40\nrms_norm_grad, add 8 of 16\nsum_squares 1 of 38\n");
}

/// Each rank of the last stage has a loss with its gradient; where ranks share the vocabulary, and where bits must not
/// depend on their number, it is the loss of the vocabulary's parts.
TEST(FusedCalls, NormsLossesAndManyTensorsChangeNoBit) {
  for (auto [name, flags, losses, lossesOfParts] :
       {std::tuple("nano-gpt2", "--dtype=bf16", 1, 0),
        {"nano-gpt2", "--dtype=f16 --dp=2 --overlap", 2, 0},
        {"nano", "--dtype=f32 --tp=2 --sp --overlap", 0, 2},
        {"nano", "--dtype=bf16 --dp=2 --zero=2 --pp=2 --micro-batches=2 --overlap", 2, 0},
        {"nano-gpt2", "--dtype=f32 --reduction=canonical --micro-batches=2", 0, 1}}) {
    plan::Plan plan = compileNano(name, flags);
    Trained apart = train(plan, Fused::Nothing), groups = train(plan, Fused::Groups);
    EXPECT_TRUE(isSame(groups.outcome, apart.outcome)) << name << " " << flags;
    EXPECT_LT(groups.launches, apart.launches) << name << " " << flags;
    EXPECT_GT(groups.counts[std::string(name) == "nano" ? "rms_norm_grad, add" : "layer_norm_grad, add"].calls, 0)
        << flags;
    EXPECT_EQ(groups.counts["cross_entropy, cross_entropy_grad"].calls, losses) << name << " " << flags;
    EXPECT_EQ(groups.counts["token_loss, cross_entropy_grad"].calls, lossesOfParts) << name << " " << flags;
  }
}

/// As many parameters as GPT-2 124M has, and as many launches for them: docs/cuda.md has these figures.
TEST(FusedCalls, LaunchesOfAGpt2OfTwelveLayers) {
  std::ifstream in(recipe("nano-gpt2"));
  std::stringstream yaml;
  yaml << in.rdbuf();
  std::string written = yaml.str(), four = "layers: 4", twelve = "layers: 12";
  written.replace(written.find(four), four.size(), twelve);
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "gpt2-of-twelve-layers.yaml";
  std::ofstream(path) << written;
  plan::Plan plan = compileRecipe(path, "--dtype=bf16", "--sequence-length=4");
  Trained apart = train(plan, Fused::Nothing, 1), groups = train(plan, Fused::Groups, 1);
  EXPECT_EQ(text(groups.counts), "adamw, cast 2 of 392\nadd, layer_norm 25 of 50\n"
                                 "cross_entropy, cross_entropy_grad 1 of 2\nfill 1 of 198\n"
                                 "layer_norm_grad, add 24 of 48\nsum_squares 1 of 196\n");
  // adamw and cast 5 for 392, sum_squares 4 for 392, fill 1 for 198, and a launch less for each norm with a sum and
  // for the loss.
  EXPECT_EQ(apart.launches - groups.launches, 387 + 388 + 197 + 49 + 1u);
}
