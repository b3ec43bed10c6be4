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

const TrainingSettings settings{.steps = 3};
constexpr double tolerance = 1e-10;

/// A recipe and what is added to it.
struct Model {
  const char *name, *recipe;
  const char *importFlags = "", *flags = "";
};

std::vector<Snapshot> trainModel(const Model &model, const std::string &flags) {
  std::filesystem::path recipe = std::filesystem::path(TGPT_RECIPES_DIR) / (std::string(model.recipe) + ".yaml");
  plan::Plan plan =
      compileRecipe(recipe, "--dtype=f64 --seed=7 " + std::string(model.flags) + " " + flags, model.importFlags);
  return train(plan, settings);
}

/// The plan of one rank, trained once a model and number of samples.
const std::vector<Snapshot> &reference(const Model &model, int samples = 16) {
  static std::map<std::pair<std::string, int>, std::vector<Snapshot>> references;
  auto found = references.find({model.name, samples});
  if (found == references.end()) {
    std::string flags = "--micro-batches=1 --micro-batch-samples=" + std::to_string(samples);
    found = references.emplace(std::pair(model.name, samples), trainModel(model, flags)).first;
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
  int zeroGroup = 0;
  int prefetch = 0;
  const char *schedule = "1f1b";
  int vpp = 1;

  /// 16 samples, or 12 where dp has a factor of three; one a micro-batch where there are more of them.
  int samples() const { return std::max(dp % 3 == 0 ? 12 : 16, dp * microBatches); }
  std::string flags() const {
    return "--tp=" + std::to_string(tp) + " --pp=" + std::to_string(pp) + " --dp=" + std::to_string(dp) +
           (sp ? " --sp" : "") + " --recompute=" + recompute + " --micro-batches=" + std::to_string(microBatches) +
           " --micro-batch-samples=" + std::to_string(samples() / dp / microBatches) +
           (zero ? " --zero=" + std::to_string(zero) + " --bucket-mib=" + std::to_string(bucketMib) : "") +
           (zeroGroup ? " --zero-group=" + std::to_string(zeroGroup) : "") +
           (prefetch ? " --overlap --prefetch=" + std::to_string(prefetch) : "") + " --schedule=" + schedule +
           " --vpp=" + std::to_string(vpp);
  }
  std::string name() const {
    return "tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" + std::to_string(dp) + (sp ? "sp" : "") + "m" +
           std::to_string(microBatches) + (recompute == std::string("none") ? "" : std::string("_") + recompute) +
           (zero ? "zero" + std::to_string(zero) + (bucketMib == 0 ? "layers" : "") : "") +
           (zeroGroup ? "by" + std::to_string(zeroGroup) : "") + (prefetch ? "ahead" + std::to_string(prefetch) : "") +
           (schedule == std::string("gpipe")         ? "gpipe"
            : schedule == std::string("zero-bubble") ? "zb"
                                                     : "") +
           (vpp > 1 ? "v" + std::to_string(vpp) : "");
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

/// Some grids with every axis alone and all together, for models with more to go wrong.
std::vector<Grid> fewGrids() {
  return {{4, 1, 1, false, 1},
          {1, 4, 1, false, 8},
          {1, 1, 8, false, 1},
          {2, 1, 2, true, 2},
          {2, 2, 2, true, 4},
          {2, 2, 2, false, 2},
          {4, 2, 2, true, 2},
          {2, 2, 2, true, 2, "full"},
          {1, 1, 4, false, 2, "selective", 1},
          {2, 2, 2, true, 2, "none", 2},
          {2, 1, 2, true, 2, "full", 3}};
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
    all.push_back({1, 1, 4, false, 2, "none", zero, 25, /*zeroGroup=*/2});
    all.push_back({2, 1, 4, true, 1, "selective", zero, 0, /*zeroGroup=*/2});
    all.push_back({1, 2, 6, false, 2, "none", zero, 25, /*zeroGroup=*/3});
    all.push_back({1, 1, 6, false, 1, "full", zero, 0, /*zeroGroup=*/2});
  }
  for (int prefetch : {1, 2, 9})
    all.push_back({2, 2, 2, true, 2, "none", 3, 0, 0, prefetch});
  all.push_back({1, 1, 4, false, 1, "full", 3, 0, 2, 1});
  return all;
}

/// All schedules, in order of what they are made of: stages, chunks and micro-batches (fewer, as many and more than
/// stages), then crossed with what changes a backward.
std::vector<Grid> scheduledGrids() {
  std::vector<Grid> all;
  for (const char *schedule : {"gpipe", "1f1b", "zero-bubble"}) {
    auto add = [&](Grid grid, int vpp) {
      grid.schedule = schedule;
      grid.vpp = vpp;
      all.push_back(grid);
    };
    add({1, 1, 1, false, 4}, 2); // chunks of one stage
    add({1, 2, 1, false, 1}, 2);
    add({1, 2, 1, false, 2}, 2); // the same stage before and behind
    add({1, 2, 1, false, 16}, 2);
    add({1, 3, 1, false, 4}, 1);
    add({1, 4, 1, false, 8}, 1);
    add({1, 4, 1, false, 4}, 3); // more virtual stages than layers
    add({2, 2, 1, true, 4}, 2);
    add({2, 2, 2, true, 2, "full"}, 1);
    add({1, 2, 2, false, 4, "selective", 2, 0}, 2);
    add({2, 2, 2, false, 2, "none", 3, 0}, 1);
    add({1, 3, 2, false, 4, "none", 1}, 2);
  }
  return all;
}

/// Eight micro-batches a stage: long steady phases.
std::vector<Grid> steadyGrids() {
  std::vector<Grid> all;
  for (const char *schedule : {"gpipe", "1f1b", "zero-bubble"})
    for (int pp : {3, 4, 8})
      for (int vpp : {1, 2}) {
        Grid grid{/*tp=*/pp == 3 ? 2 : 1, pp, /*dp=*/1, /*sp=*/pp == 3, 8 * pp};
        grid.schedule = schedule;
        grid.vpp = pp == 4 && vpp == 2 ? 3 : vpp;
        all.push_back(grid);
      }
  all.push_back({1, 3, 2, false, 24, "full", 2});
  return all;
}

/// Those with tp above 2.
std::vector<Grid> wideGrids() {
  return {{4, 1, 1, false, 1}, {4, 1, 1, true, 2}, {4, 2, 1, false, 4},        {4, 1, 2, false, 2},
          {4, 2, 2, true, 2},  {2, 1, 2, true, 1}, {4, 1, 2, true, 2, "full"}, {4, 2, 1, true, 2, "selective"}};
}

const Model plain[] = {{"nano", "nano"}, {"nano_gpt2", "nano-gpt2"}};
// Masks must not depend on how samples, positions and layers are dealt out.
const Model withDropout[] = {{"nano_dropout", "nano", "--dropout=0.1"},
                             {"nano_gpt2_dropout", "nano-gpt2", "--dropout=0.3"},
                             {"nano_attention_dropout", "nano", "--attention-dropout=0.2"},
                             {"nano_gpt2_all_dropout", "nano-gpt2", "--attention-dropout=0.4 --dropout=0.1"}};

// The mean logit and the whole vocabulary must be those of all ranks.
const Model withLossTerms[] = {{"nano_loss_terms", "nano", "", "--label-smoothing=0.1 --z-loss=0.001"},
                               {"nano_gpt2_smoothing", "nano-gpt2", "", "--label-smoothing=0.2"}};
// One weight for heads that lie on several ranks.
const Model withQkNorm[] = {
    {"nano_qk_norm", "nano", "--qk-norm=true"},
    {"nano_all", "nano", "--qk-norm=true --dropout=0.2", "--label-smoothing=0.1 --z-loss=0.001"}};

// Ranks that share a KV head hold the same key and value weights, and add up their gradients.
const Model withFewKvHeads[] = {
    {"nano_kv2", "nano", "--kv-heads=2"},
    {"nano_kv1", "nano", "--kv-heads=1"},
    {"nano_kv2_all", "nano", "--kv-heads=2 --qk-norm=true --dropout=0.2 --attention-dropout=0.3"}};

// A vocabulary that no tp divides is padded; one rank does not pad it.
const Model withOddVocabulary[] = {
    {"nano_v257", "nano", "--vocabulary=257"},
    {"nano_gpt2_v509", "nano-gpt2", "--vocabulary=509"},
    {"nano_v257_terms", "nano", "--vocabulary=257", "--label-smoothing=0.1 --z-loss=0.001"}};

// Parts of one weight lie on different ranks.
const Model withFusedWeights[] = {{"nano_fused", "nano", "--fused-qkv=true --fused-gate-up=true"},
                                  {"nano_gpt2_fused", "nano-gpt2", "--fused-qkv=true"},
                                  {"nano_fused_kv2", "nano", "--fused-qkv=true --kv-heads=2 --qk-norm=true"}};

class EquivalenceTest : public testing::TestWithParam<std::tuple<Model, Grid>> {
protected:
  static inline WorstErrors worst;
  static void TearDownTestSuite() { std::printf("%s", worst.text().c_str()); }
};

} // namespace

TEST_P(EquivalenceTest, EqualsOneRank) {
  const auto &[model, grid] = GetParam();
  std::vector<Difference> differences =
      compare(trainModel(model, grid.flags()), reference(model, grid.samples()), settings.learningRate);
  for (const Difference &difference : differences)
    EXPECT_LE(difference.error, tolerance) << difference.text();
  worst.note(differences, std::string(model.name) + " " + grid.name());
}

static std::string nameOf(const testing::TestParamInfo<std::tuple<Model, Grid>> &info) {
  return std::get<0>(info.param).name + ("_" + std::get<1>(info.param).name());
}

INSTANTIATE_TEST_SUITE_P(Grids, EquivalenceTest, testing::Combine(testing::ValuesIn(plain), testing::ValuesIn(grids())),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Zero, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(plain), testing::ValuesIn(zeroGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(Schedules, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(plain), testing::ValuesIn(scheduledGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(Dropout, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withDropout), testing::ValuesIn(fewGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(LossTerms, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withLossTerms), testing::ValuesIn(fewGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(QkNorm, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withQkNorm), testing::ValuesIn(fewGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(FewKvHeads, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withFewKvHeads), testing::ValuesIn(wideGrids())), nameOf);

INSTANTIATE_TEST_SUITE_P(OddVocabulary, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withOddVocabulary), testing::ValuesIn(fewGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(Steady, EquivalenceTest,
                         testing::Combine(testing::Values(plain[0]), testing::ValuesIn(steadyGrids())), nameOf);
INSTANTIATE_TEST_SUITE_P(FusedWeights, EquivalenceTest,
                         testing::Combine(testing::ValuesIn(withFusedWeights), testing::ValuesIn(fewGrids())), nameOf);

namespace {
/// A global batch that a grid cannot deal out evenly.
struct UnevenBatch {
  int samples, tp, pp, dp, microBatchSamples;
  std::string text() const {
    return std::to_string(samples) + "_on_tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" +
           std::to_string(dp) + "b" + std::to_string(microBatchSamples);
  }
};
class UnevenBatchTest : public testing::TestWithParam<UnevenBatch> {};
} // namespace

// The loss is a mean over the tokens that are there, and masks are those of the samples' numbers.
TEST_P(UnevenBatchTest, EqualsOneRank) {
  const UnevenBatch &uneven = GetParam();
  std::string batch = "--global-batch=" + std::to_string(uneven.samples) + " --micro-batch-samples=";
  std::string grid = " --tp=" + std::to_string(uneven.tp) + " --pp=" + std::to_string(uneven.pp) +
                     " --dp=" + std::to_string(uneven.dp) + (uneven.tp > 1 ? " --sp" : "");
  for (const Model &model : {plain[0], withDropout[1]}) {
    std::vector<Snapshot> one = trainModel(model, batch + std::to_string(uneven.samples));
    std::vector<Snapshot> many = trainModel(model, batch + std::to_string(uneven.microBatchSamples) + grid);
    for (const Difference &difference : compare(many, one, settings.learningRate))
      EXPECT_LE(difference.error, tolerance) << model.name << " " << difference.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, UnevenBatchTest,
                         testing::Values(UnevenBatch{5, 1, 1, 2, 1}, UnevenBatch{5, 1, 1, 3, 2},
                                         UnevenBatch{5, 2, 2, 4, 1}, UnevenBatch{7, 2, 1, 2, 2},
                                         UnevenBatch{7, 1, 2, 3, 1}, UnevenBatch{7, 1, 1, 4, 3},
                                         UnevenBatch{10, 1, 4, 2, 3}, UnevenBatch{10, 2, 2, 3, 2},
                                         UnevenBatch{10, 2, 1, 4, 1}),
                         [](const auto &info) { return "samples" + info.param.text(); });

// Dropout does something, with probability 0 nothing, and the same each time.
TEST(Dropout, ChangesTheLoss) {
  auto loss = [](const char *importFlags, const char *flags) {
    return trainModel({"", "nano", importFlags, flags}, "--micro-batch-samples=16").front().loss;
  };
  double without = reference(plain[0]).front().loss, with = reference(withDropout[0]).front().loss;
  EXPECT_GT(std::abs(without - with), 1e-6);
  EXPECT_EQ(loss("--dropout=0.1", ""), with);
  EXPECT_EQ(loss("--dropout=0 --attention-dropout=0", ""), without);
  double attention = reference(withDropout[2]).front().loss;
  EXPECT_GT(std::abs(without - attention), 1e-6);
  EXPECT_GT(std::abs(with - attention), 1e-6);
  EXPECT_EQ(loss("--attention-dropout=0.2", ""), attention);
}
