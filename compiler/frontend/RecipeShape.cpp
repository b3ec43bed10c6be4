//===- RecipeShape.cpp - a recipe as the cost model sees it -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/RecipeShape.h"

using namespace tgpt;

cost::ModelShape tgpt::shapeOf(const ModelRecipe &recipe) {
  bool isGpt2 = recipe.family == ModelFamily::Gpt2;
  auto count = [](int64_t number) { return static_cast<double>(number); };
  cost::ModelShape shape;
  shape.layers = count(recipe.layers);
  shape.hidden = count(recipe.width);
  shape.heads = count(recipe.heads);
  shape.kvHeads = count(recipe.kvHeads);
  shape.headDim = count(recipe.headDim());
  shape.ffnHidden = count(recipe.ffn);
  shape.gatedMlp = !isGpt2;
  shape.biases = shape.layerNorm = isGpt2;
  shape.dropout = recipe.dropout > 0;
  shape.vocabulary = count(recipe.vocabulary);
  shape.sequence = count(recipe.sequenceLength);
  shape.learnedPositions = isGpt2 ? shape.sequence : 0;
  shape.tiedEmbedding = recipe.tiedEmbeddings;
  shape.qkNorm = recipe.qkNorm;
  return shape;
}
