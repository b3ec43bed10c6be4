//===- test/e2e/FusedCallsTest.cpp - plans whose calls are done in pairs -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPT-2 on emulated devices, with the pairs of calls that products do with their
// epilogues, and with every call by itself. A pair rounds once where two calls round twice:
// the loss, of 10 to 20 roundings of logits below 1, may differ by some of them (unit 6e-8
// and 4e-3), the gradient's norm, of sums of some hundred terms, by as many relative units.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {
struct Trained {
  std::vector<double> losses, norms;
  int64_t fusedCalls = 0;
};
} // namespace

static plan::Plan compileGpt2(const std::string &flags) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / "nano-gpt2.yaml",
                       "--seed=5 --micro-batches=2 " + flags, "--sequence-length=16");
}

static Trained trainOnDevices(const plan::Plan &plan, bool mayFuse) {
  auto backend = std::make_shared<DeviceBackend>(*emulatedBackend());
  if (!mayFuse)
    backend->fuse = nullptr;
  JobOptions options;
  options.device.backend = backend;
  Job job(plan, options);
  job.initializeVariables();
  TokenPattern inputs(plan, 3e-3);
  Trained trained;
  for (inputs.step = 1; inputs.step <= 2; ++inputs.step) {
    const StepMetrics &metrics = job.runStep(inputs);
    trained.losses.push_back(metrics.loss);
    trained.norms.push_back(metrics.gradNorm);
  }
  trained.fusedCalls = job.fusedCalls();
  return trained;
}

/// Of each of 4 layers: gelu, its gradient, and the gradients of six biases.
TEST(FusedCalls, TrainAsThoseThatAreNot) {
  for (auto [flags, unit] : {std::pair("--dtype=f32", 6e-8), {"--dtype=bf16 --tp=2", 4e-3}}) {
    plan::Plan plan = compileGpt2(flags);
    Trained fused = trainOnDevices(plan, true), apart = trainOnDevices(plan, false);
    EXPECT_EQ(apart.fusedCalls, 0);
    EXPECT_GT(fused.fusedCalls, 0) << flags;
    EXPECT_EQ(fused.fusedCalls % 32, 0) << flags;
    for (size_t step = 0; step < 2; ++step) {
      EXPECT_NEAR(fused.losses[step], apart.losses[step], 30 * unit) << flags << ", step " << step + 1;
      EXPECT_NEAR(fused.norms[step], apart.norms[step], 100 * unit * apart.norms[step])
          << flags << ", step " << step + 1;
    }
    EXPECT_NE(fused.norms, apart.norms) << flags << ": the pairs round once";
  }
}

TEST(FusedCalls, NoneWhereAnOrderIsAskedFor) {
  JobOptions options;
  options.device.backend = emulatedBackend();
  EXPECT_EQ(Job(compileGpt2("--dtype=f32 --reduction=canonical --micro-batch-samples=2"), options).fusedCalls(), 0);
}
