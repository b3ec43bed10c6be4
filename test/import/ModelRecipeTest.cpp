//===- ModelRecipeTest.cpp - recipes are read strictly, and count their parameters -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelRecipe.h"
#include "compiler/frontend/ModelParameters.h"
#include "compiler/frontend/RecipeShape.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace tgpt;

static const std::string llama = "name: small\n"            // 1
                                 "family: llama\n"          // 2
                                 "vocabulary: 32\n"         // 3
                                 "width: 16\n"              // 4
                                 "layers: 2\n"              // 5
                                 "heads: 4\n"               // 6
                                 "kv_heads: 2\n"            // 7
                                 "ffn: 24\n"                // 8
                                 "sequence_length: 8\n"     // 9
                                 "norm_epsilon: 1.0e-5\n"   // 10
                                 "rope_theta: 10000.0\n"    // 11
                                 "tied_embeddings: false\n" // 12
                                 "init_stddev: 0.02\n";     // 13

static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The message with which a recipe is refused; fails the test when it is not.
static std::string refusal(const std::string &text, const RecipeOverrides &overrides = {}) {
  try {
    parseModelRecipe(text, "r.yaml", overrides);
  } catch (const RecipeError &error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted:\n" << text;
  return "";
}

TEST(ModelRecipe, ReadsEveryKey) {
  ModelRecipe recipe = parseModelRecipe(llama, "r.yaml");
  EXPECT_EQ(recipe.name, "small");
  EXPECT_EQ(recipe.family, ModelFamily::Llama);
  EXPECT_EQ(recipe.vocabulary, 32);
  EXPECT_EQ(recipe.width, 16);
  EXPECT_EQ(recipe.layers, 2);
  EXPECT_EQ(recipe.heads, 4);
  EXPECT_EQ(recipe.kvHeads, 2);
  EXPECT_EQ(recipe.headDim(), 4);
  EXPECT_EQ(recipe.kvWidth(), 8);
  EXPECT_EQ(recipe.ffn, 24);
  EXPECT_EQ(recipe.sequenceLength, 8);
  EXPECT_EQ(recipe.normEpsilon, 1e-5);
  EXPECT_EQ(recipe.ropeTheta, 10000);
  EXPECT_FALSE(recipe.tiedEmbeddings);
  EXPECT_EQ(recipe.initStddev, 0.02);
}

TEST(ModelRecipe, OptionalKeysHaveDefaults) {
  EXPECT_EQ(parseModelRecipe(llama, "r.yaml").dropout, 0);
  EXPECT_FALSE(parseModelRecipe(llama, "r.yaml").qkNorm);
  ModelRecipe recipe = parseModelRecipe(llama + "dropout: 0.25\nqk_norm: true\n", "r.yaml");
  EXPECT_EQ(recipe.dropout, 0.25);
  EXPECT_TRUE(recipe.qkNorm);
  EXPECT_EQ(recipe.attentionDropout, 0);
  EXPECT_EQ(parseModelRecipe(llama + "attention_dropout: 0.125\n", "r.yaml").attentionDropout, 0.125);
  EXPECT_EQ(refusal(llama + "attention_dropout: 1\n"),
            "r.yaml:14: attention_dropout is '1'; accepted: a number of at least 0 and below 1");
  EXPECT_FALSE(recipe.fusedQkv || recipe.fusedGateUp);
  recipe = parseModelRecipe(llama + "fused_qkv: true\nfused_gate_up: true\n", "r.yaml");
  EXPECT_TRUE(recipe.fusedQkv && recipe.fusedGateUp);
  for (std::string bad : {"1", "-0.1", "nan", "much"})
    EXPECT_EQ(refusal(llama + "dropout: " + bad + "\n"),
              "r.yaml:14: dropout is '" + bad + "'; accepted: a number of at least 0 and below 1");
  std::string gpt2 = replaced(replaced(llama, "family: llama", "family: gpt2"), "rope_theta: 10000.0\n", "");
  EXPECT_EQ(parseModelRecipe(gpt2 + "dropout: 0.25\n", "r.yaml").dropout, 0.25);
  EXPECT_EQ(refusal(gpt2 + "qk_norm: true\n").substr(0, 58),
            "r.yaml:13: unknown key 'qk_norm' in a recipe of family gpt");
}

TEST(ModelRecipe, OverridesReplaceTheFileAndAreNamedInErrors) {
  EXPECT_EQ(parseModelRecipe(llama, "r.yaml", {{"sequence_length", "4"}}).sequenceLength, 4);
  EXPECT_EQ(
      refusal(llama, {{"sequence_length", "0"}}),
      "--sequence-length: sequence_length is '0'; accepted: an integer from 1 to 134217728; nearest legal value: 1");
}

TEST(ModelRecipe, RefusesWhatIsNotAMapOfDistinctKeysToScalars) {
  EXPECT_EQ(refusal(""), "r.yaml:1: a recipe is a map of keys to values, like 'layers: 12'");
  EXPECT_EQ(refusal("- 1\n- 2\n"), "r.yaml:1: a recipe is a map of keys to values, like 'layers: 12'");
  EXPECT_EQ(refusal(llama + "width: 32\n"), "r.yaml:14: width is given twice, first at r.yaml:4");
  EXPECT_EQ(refusal(replaced(llama, "width: 16", "width: [16, 32]")), "r.yaml:4: width needs a single value");
  EXPECT_EQ(refusal(replaced(llama, "width: 16", "width:")), "r.yaml:4: width needs a single value");
  EXPECT_EQ(refusal(llama + "---\nname: other\n"),
            "r.yaml:15: a second document begins, expected one (without '---' or '...' between its lines)");
  EXPECT_EQ(refusal(replaced(llama, "family: llama", "family: \"llama\n\n  wide\"")),
            "r.yaml:2: family is 'llama...'; accepted: llama, gpt2");
  EXPECT_EQ(refusal("name: {"), "r.yaml:1: not valid YAML: end of map flow not found");
}

TEST(ModelRecipe, RefusesUnknownAndMissingKeys) {
  EXPECT_EQ(refusal(replaced(llama, "heads: 4", "headz: 4")).substr(0, 86),
            "r.yaml:6: unknown key 'headz' in a recipe of family llama; nearest accepted key: heads");
  EXPECT_EQ(refusal(replaced(llama, "ffn: 24\n", "")).substr(0, 42), "r.yaml:1: key 'ffn' is missing (needed: na");
  EXPECT_EQ(refusal(replaced(llama, "family: llama\n", "")), "r.yaml:1: key 'family' is missing");
  EXPECT_EQ(refusal(replaced(llama, "family: llama", "family: gpt2")).substr(0, 61),
            "r.yaml:11: unknown key 'rope_theta' in a recipe of family gpt");
}

TEST(ModelRecipe, RefusesValuesOfTheWrongTypeOrRange) {
  EXPECT_EQ(refusal(replaced(llama, "family: llama", "family: bert")),
            "r.yaml:2: family is 'bert'; accepted: llama, gpt2");
  EXPECT_EQ(refusal(replaced(llama, "layers: 2", "layers: two")),
            "r.yaml:5: layers is 'two'; accepted: an integer from 1 to 4096");
  EXPECT_EQ(refusal(replaced(llama, "layers: 2", "layers: 2.5")),
            "r.yaml:5: layers is '2.5'; accepted: an integer from 1 to 4096");
  EXPECT_EQ(refusal(replaced(llama, "layers: 2", "layers: -3")),
            "r.yaml:5: layers is '-3'; accepted: an integer from 1 to 4096; nearest legal value: 1");
  EXPECT_EQ(refusal(replaced(llama, "layers: 2", "layers: 99999999999999999999999")),
            "r.yaml:5: layers is '99999999999999999999999'; accepted: an integer from 1 to 4096");
  for (std::string bad : {"0", "-1", "2", "nan", "inf", "small"})
    EXPECT_EQ(refusal(replaced(llama, "1.0e-5", bad)),
              "r.yaml:10: norm_epsilon is '" + bad + "'; accepted: a number greater than 0 and at most 1");
  EXPECT_EQ(refusal(replaced(llama, "tied_embeddings: false", "tied_embeddings: maybe")),
            "r.yaml:12: tied_embeddings is 'maybe'; accepted: false, true");
  EXPECT_EQ(refusal(replaced(llama, "name: small", "name: a model")),
            "r.yaml:1: name is 'a model'; accepted: letters, digits, '_', '-' and '.'");
}

TEST(ModelRecipe, RefusesHeadsThatDoNotFit) {
  EXPECT_EQ(refusal(replaced(llama, "\nheads: 4", "\nheads: 5")),
            "r.yaml:6: heads is 5, which does not divide width 16; nearest legal value: 4");
  EXPECT_EQ(
      refusal(replaced(llama, "\nheads: 4", "\nheads: 16")),
      "r.yaml:6: heads is 16, which gives heads of 1 elements of width 16, but RoPE turns pairs and needs an even "
      "number; nearest legal value: 8");
  EXPECT_EQ(refusal(replaced(llama, "width: 16", "width: 15")),
            "r.yaml:4: width is 15, which must be even to be turned in pairs by RoPE; nearest legal value: 16");
  EXPECT_EQ(refusal(replaced(llama, "kv_heads: 2", "kv_heads: 3")),
            "r.yaml:7: kv_heads is 3, which does not divide heads 4; nearest legal value: 2");
  EXPECT_EQ(refusal(replaced(llama, "kv_heads: 2", "kv_heads: 8")),
            "r.yaml:7: kv_heads is 8, which does not divide heads 4; nearest legal value: 4");
}

TEST(ModelRecipe, RefusesFilesThatAreNotThere) {
  EXPECT_THROW(readModelRecipe("no/such/recipe.yaml"), RecipeError);
  EXPECT_THROW(readModelRecipe(TGPT_RECIPES_DIR), RecipeError);
}

// Parameters counted by hand for the small LLaMA above:
//   embed and head 2 * 32*16 = 1024; final norm 16
//   a layer: norms 32; q, o 2 * 16*16 = 512; k, v 2 * 8*16 = 256; gate, up, down 3 * 24*16 = 1152
TEST(ModelParameters, CountsASmallModelByHand) {
  EXPECT_EQ(parameterCount(parseModelRecipe(llama, "r.yaml")), 1024 + 16 + 2 * (32 + 512 + 256 + 1152));
}

// Totals as published with the weights (Hugging Face model cards; gpt2: llm.c prints 124439808), by hand where only a
// rounded figure is published: gpt3-175b = 96 (12 d^2 + 13 d) + (50257 + 2048) d + 2 d with d = 12288.
TEST(ModelParameters, TotalsArePublishedOnes) {
  auto count = [](const std::string &name) {
    ModelRecipe recipe = readModelRecipe(std::string(TGPT_RECIPES_DIR) + "/models/" + name + ".yaml");
    EXPECT_EQ(recipe.name, name);
    return parameterCount(recipe);
  };
  EXPECT_EQ(count("gpt2-124m"), 124439808);
  EXPECT_EQ(count("llama2-7b"), 6738415616);
  EXPECT_EQ(count("llama3-8b"), 8030261248);
  EXPECT_EQ(count("llama3-70b"), 70553706496);
  EXPECT_EQ(count("llama3-405b"), 405853388800);
  int64_t d = 12288;
  EXPECT_EQ(count("gpt3-175b"), 96 * (12 * d * d + 13 * d) + (50257 + 2048) * d + 2 * d);
  EXPECT_NEAR(double(count("gpt3-175b")), 175e9, 0.5e9);
  EXPECT_NEAR(double(count("pretrain-tiny")), 20e6, 1e6);
}

// The cost model counts as the model file does, whatever the recipe and its options.
TEST(ModelParameters, ShapesOfTheCostModelHaveAsMany) {
  for (const auto &file : std::filesystem::directory_iterator(TGPT_RECIPES_DIR "/models"))
    if (file.path().extension() == ".yaml")
      for (const char *fused : {"true", "false"}) {
        ModelRecipe recipe = readModelRecipe(file.path(), {{"fused_qkv", fused}});
        EXPECT_EQ(shapeOf(recipe).parameters(), double(parameterCount(recipe))) << file.path();
        if (recipe.family != ModelFamily::Llama)
          continue;
        recipe.qkNorm = true;
        recipe.tiedEmbeddings = !recipe.tiedEmbeddings;
        EXPECT_EQ(shapeOf(recipe).parameters(), double(parameterCount(recipe))) << file.path();
      }
}

TEST(ModelParameters, ResidualProjectionsStartSmallerAndNormsAreNotDecayed) {
  for (const ModelParameter &parameter : modelParameters(parseModelRecipe(llama, "r.yaml"))) {
    bool norm = parameter.name.find("norm") != std::string::npos;
    bool residual =
        parameter.name.find("attn.o") != std::string::npos || parameter.name.find("down") != std::string::npos;
    EXPECT_EQ(parameter.decayed, !norm) << parameter.name;
    EXPECT_EQ(parameter.mean, norm ? 1 : 0) << parameter.name;
    EXPECT_EQ(parameter.stddev, norm ? 0 : residual ? 0.01 : 0.02) << parameter.name; // 0.02 / sqrt(2 * 2 layers)
  }
}
