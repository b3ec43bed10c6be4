//===- ModelRecipe.cpp - reads and checks recipes -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelRecipe.h"
#include "compiler/frontend/RecipeFields.h"
#include "cost/cluster/YamlText.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <sstream>
#include <vector>

using namespace tgpt;

// The largest sizes: with them the parameter count stays below 2^60.
static constexpr int64_t maxVocabulary = (int64_t(1) << 31) - 1; // token ids are i32
static constexpr int64_t maxWidth = int64_t(1) << 20;
static constexpr int64_t maxFfn = int64_t(1) << 23;
static constexpr int64_t maxLayers = int64_t(1) << 12;
static constexpr int64_t maxSequenceLength = int64_t(1) << 27;

static std::vector<std::string> neededKeys(ModelFamily family) {
  std::vector<std::string> keys = {
      "name",     "family", "vocabulary",      "width",        "layers",          "heads",
      "kv_heads", "ffn",    "sequence_length", "norm_epsilon", "tied_embeddings", "init_stddev"};
  if (family == ModelFamily::Llama)
    keys.push_back("rope_theta");
  return keys;
}

static std::vector<std::string> optionalKeys(ModelFamily family) {
  return family == ModelFamily::Llama
             ? std::vector<std::string>{"dropout", "attention_dropout", "fused_gate_up", "fused_qkv", "qk_norm"}
             : std::vector<std::string>{"dropout", "attention_dropout", "fused_qkv"};
}

// The value in [1, most] nearest to `wanted` for which `legal` holds; the smaller of two. 1 must be legal.
static int64_t nearestLegal(int64_t wanted, int64_t most, const std::function<bool(int64_t)> &legal) {
  for (int64_t distance = 0;; ++distance)
    for (int64_t value : {wanted - distance, wanted + distance})
      if (value == 1 || (value > 1 && value <= most && legal(value)))
        return value;
}

static std::string nearest(int64_t value) {
  return "; nearest legal value: " + std::to_string(value);
}

static void checkName(const RecipeFields &fields, const std::string &name) {
  auto isNameCharacter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), isNameCharacter))
    fields.fail("name", "name is " + cost::quotedValue(name) + "; accepted: letters, digits, '_', '-' and '.'");
}

static void checkHeads(const RecipeFields &fields, const ModelRecipe &recipe) {
  bool rope = recipe.family == ModelFamily::Llama;
  auto dividesWidth = [&](int64_t heads) { return recipe.width % heads == 0; };
  auto legalHeads = [&](int64_t heads) { return dividesWidth(heads) && (!rope || recipe.width / heads % 2 == 0); };
  std::string heads = std::to_string(recipe.heads), width = std::to_string(recipe.width);
  if (rope && recipe.width % 2 != 0)
    fields.fail("width",
                "width is " + width + ", which must be even to be turned in pairs by RoPE" + nearest(recipe.width + 1));
  if (!dividesWidth(recipe.heads))
    fields.fail("heads", "heads is " + heads + ", which does not divide width " + width +
                             nearest(nearestLegal(recipe.heads, recipe.width, legalHeads)));
  if (!legalHeads(recipe.heads))
    fields.fail("heads", "heads is " + heads + ", which gives heads of " + std::to_string(recipe.headDim()) +
                             " elements of width " + width + ", but RoPE turns pairs and needs an even number" +
                             nearest(nearestLegal(recipe.heads, recipe.width, legalHeads)));
  auto dividesHeads = [&](int64_t kvHeads) { return recipe.heads % kvHeads == 0; };
  if (recipe.kvHeads > recipe.heads || !dividesHeads(recipe.kvHeads))
    fields.fail("kv_heads", "kv_heads is " + std::to_string(recipe.kvHeads) + ", which does not divide heads " + heads +
                                nearest(nearestLegal(recipe.kvHeads, recipe.heads, dividesHeads)));
}

ModelRecipe tgpt::parseModelRecipe(const std::string &text, const std::string &fileName,
                                   const RecipeOverrides &overrides) {
  RecipeFields fields(text, fileName);
  for (const auto &[key, value] : overrides)
    fields.override(key, value);

  ModelRecipe recipe;
  recipe.family = fields.choice("family", {"llama", "gpt2"}) == 0 ? ModelFamily::Llama : ModelFamily::Gpt2;
  fields.requireKeys(neededKeys(recipe.family), optionalKeys(recipe.family), fields.text("family"));
  recipe.name = fields.text("name");
  checkName(fields, recipe.name);
  recipe.vocabulary = fields.integer("vocabulary", 1, maxVocabulary);
  recipe.width = fields.integer("width", 1, maxWidth);
  recipe.layers = fields.integer("layers", 1, maxLayers);
  recipe.heads = fields.integer("heads", 1, maxWidth);
  recipe.kvHeads = fields.integer("kv_heads", 1, maxWidth);
  recipe.ffn = fields.integer("ffn", 1, maxFfn);
  recipe.sequenceLength = fields.integer("sequence_length", 1, maxSequenceLength);
  recipe.normEpsilon = fields.positive("norm_epsilon", 1);
  recipe.tiedEmbeddings = fields.boolean("tied_embeddings");
  recipe.initStddev = fields.positive("init_stddev", 1);
  if (recipe.family == ModelFamily::Llama)
    recipe.ropeTheta = fields.positive("rope_theta", 1e12);
  if (fields.has("dropout"))
    recipe.dropout = fields.share("dropout");
  if (fields.has("attention_dropout"))
    recipe.attentionDropout = fields.share("attention_dropout");
  if (fields.has("qk_norm"))
    recipe.qkNorm = fields.boolean("qk_norm");
  if (fields.has("fused_qkv"))
    recipe.fusedQkv = fields.boolean("fused_qkv");
  if (fields.has("fused_gate_up"))
    recipe.fusedGateUp = fields.boolean("fused_gate_up");
  checkHeads(fields, recipe);
  return recipe;
}

ModelRecipe tgpt::readModelRecipe(const std::filesystem::path &path, const RecipeOverrides &overrides) {
  if (path == "-")
    return parseModelRecipe(std::string(std::istreambuf_iterator<char>(std::cin), {}), "<stdin>", overrides);
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw RecipeError("no recipe '" + path.string() + "'");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0)
    return parseModelRecipe("", path.string(), overrides); // says what a recipe is
  // A device may have no end.
  if (std::filesystem::is_directory(path, error) || std::filesystem::is_character_file(path, error) || !file ||
      !(text << file.rdbuf()))
    throw RecipeError("cannot read recipe '" + path.string() + "': it is not a readable file");
  return parseModelRecipe(text.str(), path.string(), overrides);
}
