//===- ModelTextTest.cpp - every recipe becomes a model that verifies -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads each recipe of recipes/models, parses and verifies the text written for
// it, and compares the declared parameters with the recipe's count.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelText.h"
#include "compiler/frontend/ModelParameters.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tgpt;

namespace {

class ModelTextTest : public testing::Test {
protected:
  ModelTextTest() { context.loadDialect<func::FuncDialect, TgptDialect>(); }

  OwningOpRef<ModuleOp> parse(const ModelRecipe &recipe) {
    return parseSourceString<ModuleOp>(modelText(recipe), ParserConfig(&context));
  }

  MLIRContext context;
};

int64_t declaredElements(ModuleOp model) {
  int64_t elements = 0;
  for (ParameterOp parameter : model.getOps<ParameterOp>())
    elements +=
        cast<RankedTensorType>(parameter.getType()).getNumElements() * int64_t(parameter.getPerLayer().value_or(1));
  return elements;
}

TEST_F(ModelTextTest, EveryRecipeVerifiesAndDeclaresItsParameters) {
  int recipes = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TGPT_RECIPES_DIR "/models")) {
    if (entry.path().extension() != ".yaml")
      continue;
    ++recipes;
    ModelRecipe recipe = readModelRecipe(entry.path());
    OwningOpRef<ModuleOp> model = parse(recipe);
    ASSERT_TRUE(model) << entry.path();
    EXPECT_EQ(model->getName(), StringRef(recipe.name));
    EXPECT_EQ(declaredElements(*model), parameterCount(recipe)) << entry.path();
  }
  EXPECT_GE(recipes, 9);
}

TEST_F(ModelTextTest, EveryParameterIsReadOnceButForATiedTable) {
  for (bool tied : {false, true})
    for (const char *name : {"nano", "nano-gpt2"}) {
      ModelRecipe recipe = readModelRecipe(std::string(TGPT_RECIPES_DIR "/models/") + name + ".yaml");
      recipe.tiedEmbeddings = tied;
      OwningOpRef<ModuleOp> model = parse(recipe);
      ASSERT_TRUE(model);
      std::map<std::string, int> reads;
      model->walk([&](ReadOp read) { ++reads[read.getSymbol().str()]; });
      for (const ModelParameter &parameter : modelParameters(recipe))
        EXPECT_EQ(reads[parameter.name], 1) << parameter.name;
      EXPECT_EQ(reads.size(), modelParameters(recipe).size());
    }
}

TEST_F(ModelTextTest, DropoutFollowsEmbeddingAttentionAndMlp) {
  for (const char *name : {"nano", "nano-gpt2"}) {
    ModelRecipe recipe =
        readModelRecipe(std::string(TGPT_RECIPES_DIR "/models/") + name + ".yaml", {{"dropout", "0.1"}});
    OwningOpRef<ModuleOp> model = parse(recipe);
    ASSERT_TRUE(model);
    std::map<std::string, std::string> producers;
    model->walk([&](DropoutOp dropout) {
      EXPECT_EQ(dropout.getProbability().convertToDouble(), 0.1);
      producers[dropout.getStream().str()] = dropout.getInput().getDefiningOp()->getName().getStringRef().str();
    });
    std::map<std::string, std::string> expected = {
        {"embed.dropout", recipe.family == ModelFamily::Llama ? "tgpt.embedding" : "tgpt.add"},
        {"layers.*.attn.dropout", "tgpt.linear"},
        {"layers.*.mlp.dropout", "tgpt.linear"}};
    EXPECT_EQ(producers, expected);
  }
}

TEST_F(ModelTextTest, AttentionDropoutIsPartOfAttention) {
  for (const char *name : {"nano", "nano-gpt2"}) {
    ModelRecipe recipe =
        readModelRecipe(std::string(TGPT_RECIPES_DIR "/models/") + name + ".yaml", {{"attention_dropout", "0.25"}});
    OwningOpRef<ModuleOp> model = parse(recipe);
    ASSERT_TRUE(model);
    int attentions = 0;
    model->walk([&](Operation *op) { EXPECT_FALSE(isa<DropoutOp>(op)); });
    model->walk([&](AttentionOp attention) {
      EXPECT_EQ(attention.getDropout().convertToDouble(), 0.25);
      EXPECT_EQ(attention.getStream(), "layers.*.attn.probabilities");
      EXPECT_EQ(attention.getMaskInputs().size(), 2u);
      ++attentions;
    });
    EXPECT_EQ(attentions, 1);
  }
}

TEST_F(ModelTextTest, QkNormsComeBeforeRope) {
  ModelRecipe recipe = readModelRecipe(TGPT_RECIPES_DIR "/models/nano.yaml", {{"qk_norm", "true"}});
  OwningOpRef<ModuleOp> model = parse(recipe);
  ASSERT_TRUE(model);
  EXPECT_EQ(declaredElements(*model), parameterCount(recipe));
  int norms = 0;
  model->walk([&](RopeOp rope) { norms += isa_and_nonnull<HeadNormOp>(rope.getInput().getDefiningOp()); });
  EXPECT_EQ(norms, 2);
}

TEST_F(ModelTextTest, FusedWeightsAreSplit) {
  for (const char *name : {"nano", "nano-gpt2"}) {
    RecipeOverrides overrides = {{"fused_qkv", "true"}};
    if (name == std::string("nano"))
      overrides["fused_gate_up"] = "true";
    ModelRecipe recipe = readModelRecipe(std::string(TGPT_RECIPES_DIR "/models/") + name + ".yaml", overrides);
    OwningOpRef<ModuleOp> model = parse(recipe);
    ASSERT_TRUE(model);
    EXPECT_EQ(declaredElements(*model), parameterCount(recipe));
    std::vector<size_t> parts;
    model->walk([&](SplitOp split) { parts.push_back(split.getParts().size()); });
    EXPECT_EQ(parts, recipe.fusedGateUp ? (std::vector<size_t>{3, 2}) : (std::vector<size_t>{3}));
  }
}

TEST_F(ModelTextTest, InitialValuesAndEpsilonSurviveTheText) {
  ModelRecipe recipe = readModelRecipe(TGPT_RECIPES_DIR "/models/nano-gpt2.yaml");
  recipe.normEpsilon = 1.0 / 3;
  recipe.initStddev = 0.1;
  OwningOpRef<ModuleOp> model = parse(recipe);
  ASSERT_TRUE(model);
  auto declared = model->getOps<ParameterOp>();
  std::vector<ParameterOp> operations(declared.begin(), declared.end());
  std::vector<ModelParameter> expected = modelParameters(recipe);
  ASSERT_EQ(operations.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(operations[i].getSymName(), StringRef(expected[i].name));
    EXPECT_EQ(operations[i].getInit().getMean(), expected[i].mean);
    EXPECT_EQ(operations[i].getInit().getStddev(), expected[i].stddev);
    EXPECT_EQ(operations[i].getNoDecay(), !expected[i].decayed);
  }
  model->walk([&](LayerNormOp norm) { EXPECT_EQ(norm.getEpsilon().convertToDouble(), 1.0 / 3); });
}

} // namespace
