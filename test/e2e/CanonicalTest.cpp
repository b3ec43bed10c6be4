//===- test/e2e/CanonicalTest.cpp - every grid gives the bits of one rank -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --reduction=canonical, in f32: after each of three steps with AdamW, clipping and
// dropout, loss, gradient norm and the bytes of every parameter, moment and gradient
// are those of the one-rank plan that was compiled so too. No tolerance. Without the
// option they are not, or the test could not fail.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/InProcessCompiler.h"
#include "test/e2e/StepBits.h"

#include "compiler/report/MemoryReport.h"
#include "runtime/plan/Error.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <map>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

constexpr int64_t globalSamples = 8;

/// A recipe and what is added to it.
struct Model {
  const char *name, *recipe;
  RecipeOverrides overrides = {};
  double labelSmoothing = 0, zLoss = 0;
};

struct Grid {
  int64_t tp = 1, pp = 1, dp = 1;
  bool sp = false;
  int64_t microBatches = 1;
  const char *recompute = "none";
  int64_t zero = 0, zeroGroup = 0;
  bool overlap = false;
  const char *schedule = "1f1b";
  int64_t vpp = 1;

  std::string name() const {
    auto number = [](const char *axis, int64_t size) { return axis + std::to_string(size); };
    return number("tp", tp) + number("pp", pp) + number("dp", dp) + (sp ? "sp" : "") + number("m", microBatches) +
           (recompute == std::string("none") ? "" : std::string("_") + recompute) +
           (zero > 0 ? number("_zero", zero) : "") + (zeroGroup > 0 ? number("_group", zeroGroup) : "") +
           (overlap ? "_overlap" : "") + (schedule == std::string("zero-bubble") ? "_zb" : "") +
           (vpp > 1 ? number("_vpp", vpp) : "");
  }
};

std::ostream &operator<<(std::ostream &stream, const Model &model) {
  return stream << model.name;
}
std::ostream &operator<<(std::ostream &stream, const Grid &grid) {
  return stream << grid.name();
}

CompileOptions optionsOf(const Model &model, const Grid &grid, const std::string &reduction,
                         const std::string &dtype = "f32") {
  CompileOptions options;
  options.tp = grid.tp, options.pp = grid.pp, options.dp = grid.dp;
  options.sequenceParallel = grid.sp;
  options.microBatches = grid.microBatches;
  options.microBatchSamples = globalSamples / grid.dp / grid.microBatches;
  options.recompute = grid.recompute;
  options.zero = grid.zero, options.zeroGroup = grid.zeroGroup;
  options.bucketMib = grid.tp == 1 ? 25 : 0; // many layers in a bucket, or one
  options.overlap = grid.overlap;
  options.schedule = grid.schedule, options.vpp = grid.vpp;
  options.dtype = dtype;
  options.reduction = reduction;
  options.maxGradNorm = 0.01; // far below the norms of a fresh model: clipping acts
  options.labelSmoothing = model.labelSmoothing, options.zLoss = model.zLoss;
  options.seed = 7;
  return options;
}

plan::Plan compile(const Model &model, const CompileOptions &options) {
  static InProcessCompiler compiler;
  ModelRecipe recipe =
      readModelRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (std::string(model.recipe) + ".yaml"), model.overrides);
  return compiler.compile(recipe, options);
}

/// The plan of one rank, trained once a model.
const std::vector<StepBits> &reference(const Model &model, const std::string &dtype = "f32") {
  static std::map<std::string, std::vector<StepBits>> references;
  auto [found, isNew] = references.try_emplace(model.name + dtype);
  if (isNew) {
    found->second = train(compile(model, optionsOf(model, {}, "canonical", dtype)));
    EXPECT_GT(found->second.front().gradNorm, 0.01) << "nothing is clipped";
  }
  return found->second;
}

const Model models[] = {
    {"nano", "nano", {{"dropout", "0.1"}}},
    {"nano_gpt2", "nano-gpt2", {{"dropout", "0.1"}}},
    {"nano_all", "nano", {{"dropout", "0.2"}, {"qk_norm", "true"}, {"tied_embeddings", "false"}}, 0.1, 0.001},
    {"nano_gpt2_untied", "nano-gpt2", {{"dropout", "0.1"}, {"tied_embeddings", "false"}}, 0.1},
    {"nano_fused",
     "nano",
     {{"vocabulary", "250"}, {"fused_qkv", "true"}, {"fused_gate_up", "true"}, {"attention_dropout", "0.2"}},
     0.1},
    {"nano_gpt2_fused", "nano-gpt2", {{"vocabulary", "251"}, {"fused_qkv", "true"}, {"attention_dropout", "0.1"}}},
};

const Grid grids[] = {
    {2, 1, 1},
    {4, 1, 1},
    {2, 1, 1, true},
    {4, 1, 1, true}, // tensors
    {1, 2, 1},
    {1, 4, 1},
    {1, 2, 1, false, 4},
    {1, 4, 1, false, 8}, // stages
    {1, 1, 2},
    {1, 1, 4},
    {1, 1, 8},
    {1, 1, 2, false, 4}, // samples over ranks
    {1, 1, 1, false, 2},
    {1, 1, 1, false, 4},
    {1, 1, 1, false, 8}, // and over micro-batches
    {2, 2, 2, true, 4},
    {2, 2, 2, false, 2},
    {4, 2, 1, true, 8},
    {2, 1, 4, true, 2}, // all together
    {1, 4, 2, false, 4},
    {1, 1, 1, false, 1, "full"},
    {2, 2, 2, true, 2, "full"},
    {2, 1, 2, false, 4, "selective"},
    {1, 1, 2, false, 1, "none", 1},
    {1, 1, 4, false, 1, "none", 2},
    {1, 1, 8, false, 1, "none", 3}, // pieces
    {1, 1, 2, false, 4, "none", 2},
    {1, 2, 2, false, 2, "none", 3, 0, true}, // and micro-batches
    {2, 1, 4, true, 1, "none", 2, 2, true},
    {1, 2, 4, false, 1, "none", 3, 2},
    {1, 1, 4, false, 2, "none", 1, 2}, // in groups
    {2, 2, 2, true, 1, "full", 3},
    {2, 2, 2, true, 4, "selective", 1}, // all together
    {1, 2, 1, false, 4, "none", 0, 0, false, "1f1b", 2},
    {1, 4, 1, false, 8, "none", 0, 0, false, "zero-bubble"},
    {2, 2, 2, true, 4, "full", 0, 0, true, "zero-bubble", 2}, // schedules
    {1, 2, 2, false, 4, "none", 2, 0, false, "zero-bubble", 3},
};

/// Models whose KV heads are fewer than tp, and what shares one.
const Model sharingModels[] = {
    {"nano_kv2", "nano", {{"kv_heads", "2"}, {"dropout", "0.1"}, {"attention_dropout", "0.2"}}},
    {"nano_kv1", "nano", {{"kv_heads", "1"}, {"tied_embeddings", "false"}, {"fused_qkv", "true"}}, 0.1},
    {"nano_kv2_norms", "nano", {{"kv_heads", "2"}, {"qk_norm", "true"}, {"vocabulary", "250"}}},
    {"nano_odd_groups", "nano", {{"heads", "12"}, {"kv_heads", "2"}, {"width", "96"}}}, // 6 query heads a KV head
};

const Grid sharingGrids[] = {
    {2, 1, 1},
    {4, 1, 1},
    {4, 1, 1, true},
    {4, 2, 2, false, 4},
    {4, 1, 4, true, 2},
    {4, 2, 2, true, 1, "full"},
    {4, 1, 2, true, 2, "selective", 1, 0, true},
    {4, 1, 2, false, 1, "none", 3},
    {4, 1, 4, true, 1, "none", 2, 2},
};

class CanonicalTest : public testing::TestWithParam<std::tuple<Model, Grid>> {};

} // namespace

TEST_P(CanonicalTest, GivesTheBitsOfOneRank) {
  const auto &[model, grid] = GetParam();
  expectSameBits(train(compile(model, optionsOf(model, grid, "canonical"))), reference(model));
}

INSTANTIATE_TEST_SUITE_P(Grids, CanonicalTest, testing::Combine(testing::ValuesIn(models), testing::ValuesIn(grids)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + ("_" + std::get<1>(info.param).name());
                         });

INSTANTIATE_TEST_SUITE_P(SharedKvHeads, CanonicalTest,
                         testing::Combine(testing::ValuesIn(sharingModels), testing::ValuesIn(sharingGrids)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + ("_" + std::get<1>(info.param).name());
                         });

// All eight query heads of nano on ranks of their own, four KV heads shared by two of them each.
TEST(Canonical, ServesAsManyRanksAsQueryHeads) {
  for (const Grid &grid : {Grid{8, 1, 1}, Grid{8, 1, 1, true, 2}})
    expectSameBits(train(compile(models[0], optionsOf(models[0], grid, "canonical"))), reference(models[0]));
}

TEST(Canonical, IsWhatGivesTheBits) {
  for (const Model &model : {models[0], models[1]}) {
    std::vector<StepBits> one = train(compile(model, optionsOf(model, {}, "fast")));
    for (const Grid &grid : {Grid{2, 1, 1}, Grid{1, 1, 2}, Grid{1, 1, 1, false, 4}}) {
      std::vector<StepBits> other = train(compile(model, optionsOf(model, grid, "fast")));
      EXPECT_FALSE(other.back().variables == one.back().variables) << model.name << " " << grid.name();
    }
  }
}

TEST(Canonical, ServesF64) {
  for (const Grid &grid : {Grid{2, 2, 2, true, 2}, Grid{4, 1, 1, false, 8}})
    for (const Model &model : models)
      expectSameBits(train(compile(model, optionsOf(model, grid, "canonical", "f64"))), reference(model, "f64"));
}

// Without dp, any number of micro-batches has a tree.
TEST(Canonical, ServesAnyNumberOfMicroBatchesOfOneRank) {
  for (int64_t microBatches : {3, 5, 6}) {
    CompileOptions options = optionsOf(models[0], {}, "canonical");
    options.microBatches = microBatches;
    options.microBatchSamples = 1;
    std::vector<StepBits> one = train(compile(models[0], options));
    options.tp = 2, options.pp = 2, options.sequenceParallel = true;
    expectSameBits(train(compile(models[0], options)), one);
    options = optionsOf(models[0], {}, "canonical");
    options.microBatchSamples = microBatches;
    expectSameBits(train(compile(models[0], options)), one);
  }
}

// Rows that fill the last micro-batches up add zeros, which change nothing.
TEST(Canonical, ServesAnyGlobalBatch) {
  CompileOptions options = optionsOf(models[0], {}, "canonical");
  options.microBatchSamples = 6;
  std::vector<StepBits> one = train(compile(models[0], options));
  options.globalBatch = 6;
  for (const Grid &grid : {Grid{1, 1, 2, false, 4}, Grid{2, 2, 1, true, 4}, Grid{1, 1, 4, false, 2}}) {
    options.tp = grid.tp, options.pp = grid.pp, options.dp = grid.dp, options.sequenceParallel = grid.sp;
    options.microBatches = grid.microBatches;
    options.microBatchSamples = globalSamples / grid.dp / grid.microBatches;
    expectSameBits(train(compile(models[0], options)), one);
  }
}

// More chunks are another order: the chunks are part of what the bits depend on.
TEST(Canonical, ChunksAreTheLargestTp) {
  CompileOptions options = optionsOf(models[0], {}, "canonical");
  options.reductionChunks = 2;
  std::vector<StepBits> one = train(compile(models[0], options));
  EXPECT_FALSE(one.back().variables == reference(models[0]).back().variables);
  options.tp = 2;
  expectSameBits(train(compile(models[0], options)), one);
  options.tp = 4;
  EXPECT_THROW(compile(models[0], options), Error);
}

// The price in bytes: a gradient more for every doubling of the micro-batches beyond two, and one for each further
// use of a tied weight.
TEST(Canonical, PriceInBytesIsReported) {
  for (const Model &model : {models[0], models[2]})
    for (int64_t microBatches : {1, 2, 4, 8}) {
      plan::Plan plan = compile(model, optionsOf(model, {1, 1, 1, false, microBatches}, "canonical"));
      MemoryReport report = memoryReportOf(plan);
      const StageMemoryReport &stage = report.stages.front();
      bool isTied = !model.overrides.contains("tied_embeddings");
      int64_t carries = std::max<int64_t>(std::bit_width(uint64_t(microBatches - 1)) - 1, 0);
      int64_t gradient = stage.ledger.parameters * stage.ledger.gradientBytes, use = isTied ? 256 * 64 * 4 : 0;
      EXPECT_EQ(stage.ledger.canonicalBytes, carries * (gradient + use) + use) << model.name << " " << microBatches;
    }
}
