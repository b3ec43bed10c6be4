//===- test/e2e/DeviceTest.cpp - plans of CPU ranks on emulated devices -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same plan, on the host and on emulated devices:
//
//   - with the kernels of the host on both, only the engine differs: no bit may, with graphs
//     or without. The device refuses what no event orders, so passing at all is half of it.
//   - with the device kernels, emulated: in f64 within 1e-10 (Comparison.h says why); in f32
//     and bf16 the loss, a mean over tokens of sums of logits, within some roundings of them:
//     a logit is below 1 here, and comes by 10 to 20 roundings, whose unit is 6e-8 and 4e-3.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "test/e2e/Comparison.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/Outcome.h"
#include "test/unit/engine/EmulatedDevices.h"

#include <gtest/gtest.h>

#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {
struct Setting {
  const char *name;
  const char *flags;
  const char *recipe = "nano";
  const char *importFlags = "";
};

plan::Plan compile(const Setting &setting, const std::string &more) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (std::string(setting.recipe) + ".yaml"),
                       "--seed=5 " + std::string(setting.flags) + more,
                       "--sequence-length=16 " + std::string(setting.importFlags));
}

std::string nameOf(const testing::TestParamInfo<Setting> &info) {
  return info.param.name;
}

const Setting settings[] = {
    {"OneRank", "--micro-batches=2 --micro-batch-samples=2"},
    {"Bf16", "--dtype=bf16 --tp=2 --sp --micro-batches=2 --overlap"},
    {"F16WithLossScale", "--dtype=f16 --dp=2 --micro-batches=2 --overlap", "nano-gpt2"},
    {"SequenceParallel", "--tp=4 --sp --micro-batches=2 --overlap"},
    {"Pipeline", "--pp=4 --micro-batches=6"},
    {"PipelineAndData", "--pp=2 --dp=2 --micro-batches=4 --overlap"},
    {"Interleaved", "--pp=2 --vpp=2 --tp=2 --micro-batches=4 --overlap"},
    {"MessagesToItself", "--vpp=2 --micro-batches=4"},
    {"ZeroBubble", "--pp=2 --schedule=zero-bubble --micro-batches=4"},
    {"Zero1", "--dp=2 --zero=1 --micro-batches=2 --overlap", "nano-gpt2"},
    {"Zero2", "--dp=2 --tp=2 --zero=2 --micro-batches=2 --overlap"},
    {"Zero3Prefetched", "--dp=2 --pp=2 --zero=3 --prefetch=1 --micro-batches=4 --overlap"},
    {"Recomputed", "--tp=2 --recompute=full --micro-batches=2 --overlap"},
    {"Dropout", "--tp=2 --dp=2 --micro-batches=2 --overlap", "nano-gpt2", "--dropout=0.1 --attention-dropout=0.1"},
    {"CanonicalReduction", "--tp=2 --dp=2 --reduction=canonical --micro-batches=2 --micro-batch-samples=2"},
};

class HostKernels : public testing::TestWithParam<Setting> {};
} // namespace

TEST_P(HostKernels, GiveTheBitsOfTheHost) {
  plan::Plan plan = compile(GetParam(), "");
  Outcome expected = outcomeOf(plan);
  for (bool usesGraphs : {true, false}) {
    JobOptions options = test::onDevices(test::hostKernelsOnDevices(cpuKernels()));
    options.device.usesGraphs = usesGraphs;
    EXPECT_TRUE(isSame(outcomeOf(plan, options), expected)) << (usesGraphs ? "with graphs" : "without graphs");
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, HostKernels, testing::ValuesIn(settings), nameOf);

namespace {
const Setting kernelSettings[] = {
    {"OneRank", "--micro-batches=2"},
    {"TensorParallel", "--tp=2 --overlap"},
    {"SequenceParallelGpt2", "--tp=2 --sp --overlap", "nano-gpt2"},
    {"PipelineAndData", "--pp=2 --dp=2 --micro-batches=2"},
    {"Zero3", "--dp=2 --zero=3 --overlap"},
};
class DeviceKernels : public testing::TestWithParam<Setting> {};
} // namespace

TEST_P(DeviceKernels, GiveTheNumbersOfTheHost) {
  plan::Plan plan = compile(GetParam(), " --dtype=f64");
  TrainingSettings settings{.steps = 2};
  std::vector<Snapshot> expected = train(plan, settings);
  settings.device.backend = emulatedBackend();
  for (const Difference &difference : compare(train(plan, settings), expected, settings.learningRate))
    EXPECT_LT(difference.error, 1e-10) << difference.text();
}

INSTANTIATE_TEST_SUITE_P(Plans, DeviceKernels, testing::ValuesIn(kernelSettings), nameOf);

TEST(DeviceKernelsInShortTypes, GiveTheLossOfTheHost) {
  for (auto [dtype, bound] : {std::pair(" --dtype=f32", 2e-6), {" --dtype=bf16", 2e-2}}) {
    for (const char *recipe : {"nano", "nano-gpt2"}) {
      plan::Plan plan = compile({"", "--tp=2 --sp --overlap", recipe}, dtype);
      JobOptions options;
      options.device.backend = emulatedBackend();
      Outcome onDevice = outcomeOf(plan, options, 2), onHost = outcomeOf(plan, {}, 2);
      for (size_t step = 0; step < 2; ++step)
        EXPECT_NEAR(onDevice.losses[step], onHost.losses[step], bound) << recipe << dtype << ", step " << step + 1;
    }
  }
}

