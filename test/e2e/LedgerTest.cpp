//===- test/e2e/LedgerTest.cpp - the ledger explains every byte of a plan -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas and the lines beside them must add up to the bytes of each region of each
// stage. What embedding, head and loss keep is a rest there; here it is counted.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/RecipeShape.h"
#include "compiler/ledger/PlanComparison.h"
#include "test/e2e/CompiledModel.h"

#include <gtest/gtest.h>

#include <memory>

using namespace tgpt;
using tgpt::runtime::compileRecipe;

namespace {

struct Compared {
  ModelRecipe recipe;
  std::unique_ptr<plan::Plan> plan; // the report points to it
  MemoryReport report;
  LedgerRequest request;
  std::vector<ComparedStage> stages;
};

Compared compare(const std::string &name, const std::string &flags, const std::string &importFlags = "",
                 const RecipeOverrides &overrides = {}) {
  Compared compared;
  std::filesystem::path file = std::filesystem::path(TGPT_RECIPES_DIR) / (name + ".yaml");
  compared.recipe = readModelRecipe(file, overrides);
  compared.plan = std::make_unique<plan::Plan>(compileRecipe(file, flags, importFlags));
  compared.report = memoryReportOf(*compared.plan);
  LedgerRequest request;
  request.model = name;
  request.shape = shapeOf(compared.recipe);
  compared.request = requestOfPlan(request, *compared.plan);
  compared.stages = comparisonOf(compared.request, compared.report);
  return compared;
}

const ComparedPart &partOf(const ComparedStage &stage, const std::string &name) {
  for (const ComparedPart &part : stage.parts)
    if (part.name == name)
      return part;
  throw std::logic_error("no part " + name);
}

double lineOf(const ComparedPart &part, const std::string &reason) {
  for (const DifferenceLine &line : part.lines)
    if (line.reason.find(reason) != std::string::npos)
      return line.bytes;
  return 0;
}

class LedgerTest : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(LedgerTest, ExplainsEveryByte) {
  for (const char *recipe : {"nano", "nano-gpt2"}) {
    Compared compared = compare(recipe, GetParam());
    ASSERT_EQ(compared.stages.size(), compared.report.stages.size());
    for (size_t i = 0; i < compared.stages.size(); ++i) {
      const ComparedStage &stage = compared.stages[i];
      SCOPED_TRACE(std::string(recipe) + " " + GetParam() + ", stage " + std::to_string(i));
      EXPECT_EQ(stage.planBytes(), static_cast<double>(compared.report.stages[i].arenaBytes));
      for (const ComparedPart &part : stage.parts)
        EXPECT_NEAR(part.unexplainedBytes(), 0, 0.5) << part.name << comparisonText(compared.stages);
      // Regions begin at multiples of 64 bytes, and so do buffers.
      for (const char *name : {"parameters", "gradients", "optimizer"}) {
        int variables = 0;
        for (const plan::Variable &variable : compared.plan->stages(static_cast<int>(i)).variables())
          variables += !variable.name().empty();
        EXPECT_LE(lineOf(partOf(stage, name), "alignment"), 64. * (variables + 1));
        EXPECT_GE(lineOf(partOf(stage, name), "alignment"), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grids, LedgerTest,
    testing::Values("--dtype=bf16", "--dtype=f64 --recompute=selective", "--dtype=f32 --tp=2 --sp --recompute=full",
                    "--dtype=bf16 --tp=4 --sp --dp=2 --zero=3 --micro-batches=2 --recompute=selective",
                    "--dtype=f16 --pp=2 --vpp=2 --tp=2 --micro-batches=4 --recompute=full",
                    "--dtype=bf16 --dp=3 --zero=1 --micro-batch-samples=2 --pp=3 --micro-batches=5",
                    "--dtype=bf16 --dp=4 --zero=2 --zero-group=2 --pp=2 --schedule=gpipe --micro-batches=3",
                    "--dtype=f32 --dp=2 --zero=2 --micro-batches=4 --reduction=canonical",
                    "--dtype=bf16 --tp=2 --pp=4 --schedule=zero-bubble --micro-batches=8",
                    "--dtype=bf16 --dp=2 --zero=3 --overlap --stages=1,3 --pp=2 --micro-batches=2",
                    "--dtype=bf16 --vocabulary-multiple=192 --tp=2",
                    // More ranks of tp than key-value heads, which the formulas count: no line is about them.
                    "--dtype=bf16 --tp=8 --pp=3 --dp=3 --zero=2 --micro-batches=6",
                    "--dtype=f32 --tp=8 --sp --recompute=selective --zero=3 --dp=2"));

// What is kept outside of the layers, by hand. A stage in front of the last keeps the tokens' ids (i32), if any; the
// last one what the backwards of final norm and head read: norm's input and result in 2 bytes, a row statistic (two of
// a layer norm) in 4, the gradient of the logits in 2.
TEST(Ledger, RestOfTheActivationsIsEmbeddingHeadAndLoss) {
  for (const char *recipe : {"nano", "nano-gpt2"}) {
    Compared compared = compare(recipe, "--dtype=bf16 --pp=3 --micro-batches=6");
    const cost::ModelShape &shape = compared.request.shape;
    double first = lineOf(partOf(compared.stages[0], "activations"), "embedding");
    EXPECT_EQ(first, 3 * 4 * shape.sequence) << recipe;
    EXPECT_EQ(lineOf(partOf(compared.stages[1], "activations"), "embedding"), 0);
    double last = lineOf(partOf(compared.stages[2], "activations"), "embedding");
    double statistics = shape.layerNorm ? 2 : 1;
    EXPECT_EQ(last, shape.sequence * (4 * shape.hidden + 4 * statistics + 2 * shape.vocabulary)) << recipe;
  }
}

// On a stage in the middle, where no rest takes what a line does not explain.
TEST(Ledger, ExplainsWhatDropoutAndHeadNormsKeep) {
  const std::pair<RecipeOverrides, const char *> changes[] = {
      {{{"dropout", "0.1"}}, "--dropout=0.1"},
      {{{"attention_dropout", "0.1"}}, "--attention-dropout=0.1"},
      {{{"qk_norm", "true"}}, "--qk-norm=true"}};
  for (const char *mode : {"none", "selective", "full"})
    for (const auto &[overrides, importFlags] : changes) {
      std::string flags =
          std::string("--dtype=bf16 --tp=2 --pp=3 --micro-batches=6 --micro-batch-samples=2 --recompute=");
      Compared compared = compare("nano", flags + mode, importFlags, overrides);
      for (const ComparedPart &part : compared.stages[1].parts)
        EXPECT_NEAR(part.unexplainedBytes(), 0, 0.5)
            << importFlags << " " << mode << " " << part.name << comparisonText(compared.stages);
    }
}

TEST(Ledger, RefusesThePlanOfAnotherModel) {
  plan::Plan plan = compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / "nano.yaml", "--dtype=bf16");
  LedgerRequest request;
  request.model = "nano-gpt2";
  request.shape = shapeOf(readModelRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / "nano-gpt2.yaml"));
  EXPECT_THROW(requestOfPlan(request, plan), std::runtime_error);
}
