//===- test/e2e/RecomputeTest.cpp - recomputing changes memory and nothing else -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same kernels on the same operands give the same bits, so a run that computes
// parts of its forward again must leave exactly what one that keeps them leaves: no
// tolerance. What is kept is compared with closed formulas, to the byte.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/Outcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

struct Grid {
  int tp, pp, dp;
  bool sp;

  std::string flags() const {
    return "--tp=" + std::to_string(tp) + " --pp=" + std::to_string(pp) + " --dp=" + std::to_string(dp) +
           (sp ? " --sp" : "") + " --micro-batches=3 --micro-batch-samples=2";
  }
  std::string name() const {
    return "tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" + std::to_string(dp) + (sp ? "sp" : "");
  }
};

const Grid grids[] = {
    {1, 1, 1, false}, {2, 1, 1, false}, {2, 1, 1, true}, {1, 2, 1, false}, {2, 2, 2, true}, {1, 4, 1, false},
};

plan::Plan compile(const std::string &model, const Grid &grid, const std::string &dtype, const std::string &recompute,
                   const std::string &importFlags = "") {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml"),
                       "--seed=11 --dtype=" + dtype + " --recompute=" + recompute + " " + grid.flags(), importFlags);
}

int64_t keptBytes(const plan::StageProgram &stage) {
  for (const plan::Region &region : stage.regions())
    if (region.kind() == plan::Region::ACTIVATIONS)
      return region.peak_live_bytes();
  return 0;
}

/// Operations of the kernels of the backward segments.
double backwardFlops(const plan::Plan &plan) {
  double flops = 0;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      if (segment.kind() == plan::Segment::BACKWARD)
        for (const plan::Instruction &instruction : segment.instructions())
          flops += static_cast<double>(instruction.cost().flops());
  return flops;
}

/// The recipes nano and nano-gpt2, and how many bytes a token has of each kind.
struct Shape {
  bool isGpt2;
  int64_t tokens = 2 * 64, width = 64, heads = 8, vocabulary = 256, layers = 4; ///< of a micro-batch
  int64_t keyWidth() const { return isGpt2 ? 64 : 32; }
  int64_t ffn() const { return isGpt2 ? 256 : 128; }
  /// Statistics a norm keeps of a row: rms_norm 1 / rms, layer_norm also the mean.
  int64_t statistics() const { return isGpt2 ? 2 : 1; }
};

/// Elements that a layer keeps of a token: `compute` in the compute type, `sums` in the accumulation type.
struct Kept {
  int64_t compute, sums;
};

/// What of a layer is kept; rows of the residual stream are shared out over `rowShards` ranks.
Kept keptByLayer(const Shape &shape, const std::string &recompute, int64_t tp, int64_t rowShards) {
  int64_t row = shape.width / rowShards;
  if (recompute == "full")
    return {row, 0};
  // The inputs of both norms; query, key and value; what the activation reads: gate and up, or one tensor.
  int64_t attention = (shape.width + 2 * shape.keyWidth()) / tp, activation = (shape.isGpt2 ? 1 : 2) * shape.ffn() / tp;
  if (recompute == "selective")
    return {2 * row + attention + activation, 0};
  // And results of norms, attention and activation. Statistics of rowShards rows count as one.
  return {4 * row + attention + shape.width / tp + activation + shape.ffn() / tp, shape.heads / tp};
}

int64_t expectedBytes(const Shape &shape, const Grid &grid, int64_t stage, const std::string &recompute,
                      int64_t bytes) {
  int64_t rowShards = grid.sp ? grid.tp : 1, layers = shape.layers / grid.pp, sumBytes = std::max<int64_t>(bytes, 4);
  Kept kept = keptByLayer(shape, recompute, grid.tp, rowShards);
  int64_t total = layers * shape.tokens * (kept.compute * bytes + kept.sums * sumBytes);
  int64_t normStatistics = shape.statistics() * shape.tokens / rowShards * sumBytes;
  if (recompute == "none")
    total += layers * 2 * normStatistics;
  if (stage == 0)
    total += shape.tokens * 4; // the tokens
  if (stage == grid.pp - 1) {
    total += 2 * shape.tokens * shape.width / rowShards * bytes + normStatistics; // final norm: input and results
    total += shape.tokens * shape.vocabulary / grid.tp * bytes;                   // gradient of the logits
  }
  return total;
}

class RecomputeTest : public testing::TestWithParam<std::tuple<std::string, Grid>> {};

} // namespace

TEST_P(RecomputeTest, GivesTheSameBits) {
  const auto &[model, grid] = GetParam();
  for (const char *dtype : {"f64", "f32", "bf16"}) {
    Outcome kept = outcomeOf(compile(model, grid, dtype, "none"));
    for (const char *recompute : {"selective", "full"}) {
      SCOPED_TRACE(std::string(dtype) + " " + recompute);
      Outcome recomputed = outcomeOf(compile(model, grid, dtype, recompute));
      EXPECT_EQ(recomputed.losses, kept.losses);
      EXPECT_EQ(recomputed.norms, kept.norms);
      ASSERT_EQ(recomputed.variables.size(), kept.variables.size());
      for (const auto &[name, bytes] : kept.variables)
        EXPECT_TRUE(recomputed.variables.at(name) == bytes) << name;
    }
  }
}

TEST_P(RecomputeTest, KeepsWhatTheFormulaSays) {
  const auto &[model, grid] = GetParam();
  Shape shape{.isGpt2 = model == "nano-gpt2"};
  for (auto [dtype, bytes] : {std::pair("f64", 8), std::pair("f32", 4), std::pair("bf16", 2)})
    for (const char *recompute : {"none", "selective", "full"}) {
      plan::Plan plan = compile(model, grid, dtype, recompute);
      for (const plan::StageProgram &stage : plan.stages())
        EXPECT_EQ(keptBytes(stage), expectedBytes(shape, grid, stage.stage(), recompute, bytes))
            << dtype << " " << recompute << " stage " << stage.stage();
    }
}

// The same model is trained, so its operations are the same; the backward does more.
TEST_P(RecomputeTest, IsNoWorkOfTheModel) {
  const auto &[model, grid] = GetParam();
  plan::Plan none = compile(model, grid, "f32", "none"), selective = compile(model, grid, "f32", "selective"),
             full = compile(model, grid, "f32", "full");
  EXPECT_EQ(selective.training().model_flops_per_step(), none.training().model_flops_per_step());
  EXPECT_EQ(full.training().model_flops_per_step(), none.training().model_flops_per_step());
  EXPECT_LT(backwardFlops(none), backwardFlops(selective));
  EXPECT_LT(backwardFlops(selective), backwardFlops(full));
}

INSTANTIATE_TEST_SUITE_P(Grids, RecomputeTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(grids)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A mask that is drawn again drops the same elements.
TEST(RecomputedDropout, HasTheBitsOfTheKeptOne) {
  for (const Grid &grid : {grids[1], grids[4]}) {
    Outcome kept =
        outcomeOf(compile("nano", grid, "f32", "none", "--dropout=0.2 --attention-dropout=0.3 --qk-norm=true"));
    for (const char *recompute : {"selective", "full"}) {
      Outcome again =
          outcomeOf(compile("nano", grid, "f32", recompute, "--dropout=0.2 --attention-dropout=0.3 --qk-norm=true"));
      EXPECT_EQ(again.losses, kept.losses) << grid.name() << " " << recompute;
      EXPECT_TRUE(again.variables == kept.variables) << grid.name() << " " << recompute;
    }
  }
}
