//===- ModelRecipe.h - the numbers that define a model -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recipe is a short YAML file (recipes/README.md) with the shape of a GPT.
// Reading one is strict: every key of the family must be there once, none else but
// the optional ones, and the numbers must fit together. Whoever gets a ModelRecipe from here may
// rely on heads dividing width, kv heads dividing heads, and products of all
// sizes fitting 63 bits.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_MODELRECIPE_H
#define TGPT_COMPILER_FRONTEND_MODELRECIPE_H

#include "compiler/frontend/RecipeError.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tgpt {

enum class ModelFamily {
  Llama, // RMSNorm, RoPE, grouped-query attention, SwiGLU, no biases
  Gpt2,  // LayerNorm, learned positions, GELU, biases
};

struct ModelRecipe {
  std::string name;
  ModelFamily family = ModelFamily::Llama;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t ffn = 0;
  int64_t sequenceLength = 0;
  double normEpsilon = 0;
  double ropeTheta = 0; // LLaMA family only
  bool tiedEmbeddings = false;
  double initStddev = 0;
  double dropout = 0;          // optional: after the embedding, attention and MLP
  double attentionDropout = 0; // optional: of the attention probabilities
  bool qkNorm = false;         // optional, LLaMA family only
  bool fusedQkv = false;       // optional: query, key and value weights are one
  bool fusedGateUp = false;    // optional, LLaMA family only: gate and up weights are one

  int64_t headDim() const { return width / heads; }
  int64_t kvWidth() const { return kvHeads * headDim(); }
};

/// Values given on the command line, by recipe key; they replace those of the file.
using RecipeOverrides = std::map<std::string, std::string>;

/// Reads a recipe file; "-" is stdin.
ModelRecipe readModelRecipe(const std::filesystem::path &path, const RecipeOverrides &overrides = {});

/// As above, from text; `fileName` is what errors call it.
ModelRecipe parseModelRecipe(const std::string &text, const std::string &fileName,
                             const RecipeOverrides &overrides = {});

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_MODELRECIPE_H
