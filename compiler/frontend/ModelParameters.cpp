//===- ModelParameters.cpp - the trainable tensors of a model -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelParameters.h"

#include <cmath>

using namespace tgpt;

namespace {

// Appends the parameters of each part of a model in declaration order.
class ParameterList {
public:
  explicit ParameterList(const ModelRecipe &recipe) : recipe(recipe), biased(recipe.family == ModelFamily::Gpt2) {}

  std::vector<ModelParameter> build() {
    add({"embed.weight", {recipe.vocabulary, recipe.width}, 0, recipe.initStddev, 0, true});
    if (recipe.family == ModelFamily::Gpt2)
      add({"position.weight", {recipe.sequenceLength, recipe.width}, 0, recipe.initStddev, 0, true});
    addBlock();
    addNorm("final_norm", 0);
    if (!recipe.tiedEmbeddings)
      add({"head.weight", {recipe.vocabulary, recipe.width}, 0, recipe.initStddev, 0, true});
    return std::move(list);
  }

private:
  void add(ModelParameter parameter) { list.push_back(std::move(parameter)); }

  void addNorm(const std::string &name, int64_t layers) {
    add({name + ".weight", {recipe.width}, 1, 0, layers, false});
    if (biased)
      add({name + ".bias", {recipe.width}, 0, 0, layers, false});
  }

  void addLinear(const std::string &name, int64_t in, int64_t out, double stddev) {
    add({name + ".weight", {out, in}, 0, stddev, recipe.layers, true});
    if (biased)
      add({name + ".bias", {out}, 0, 0, recipe.layers, false});
  }

  void addBlock() {
    double stddev = recipe.initStddev;
    // Two projections a layer add to the residual stream: scaled so that its variance
    // does not grow with depth (GPT-2 paper, section 2.3).
    double residualStddev = stddev / std::sqrt(2.0 * double(recipe.layers));
    addNorm("layers.*.attn_norm", recipe.layers);
    if (recipe.fusedQkv) {
      addLinear("layers.*.attn.qkv", recipe.width, recipe.width + 2 * recipe.kvWidth(), stddev);
    } else {
      addLinear("layers.*.attn.q", recipe.width, recipe.width, stddev);
      addLinear("layers.*.attn.k", recipe.width, recipe.kvWidth(), stddev);
      addLinear("layers.*.attn.v", recipe.width, recipe.kvWidth(), stddev);
    }
    if (recipe.qkNorm)
      for (const char *norm : {"layers.*.attn.q_norm.weight", "layers.*.attn.k_norm.weight"})
        add({norm, {recipe.headDim()}, 1, 0, recipe.layers, false});
    addLinear("layers.*.attn.o", recipe.width, recipe.width, residualStddev);
    addNorm("layers.*.mlp_norm", recipe.layers);
    if (recipe.fusedGateUp) {
      addLinear("layers.*.mlp.gate_up", recipe.width, 2 * recipe.ffn, stddev);
    } else {
      if (recipe.family == ModelFamily::Llama)
        addLinear("layers.*.mlp.gate", recipe.width, recipe.ffn, stddev);
      addLinear("layers.*.mlp.up", recipe.width, recipe.ffn, stddev);
    }
    addLinear("layers.*.mlp.down", recipe.ffn, recipe.width, residualStddev);
  }

  const ModelRecipe &recipe;
  bool biased;
  std::vector<ModelParameter> list;
};

} // namespace

int64_t ModelParameter::elements() const {
  int64_t count = layers > 0 ? layers : 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::vector<ModelParameter> tgpt::modelParameters(const ModelRecipe &recipe) {
  return ParameterList(recipe).build();
}

int64_t tgpt::parameterCount(const ModelRecipe &recipe) {
  int64_t count = 0;
  for (const ModelParameter &parameter : modelParameters(recipe))
    count += parameter.elements();
  return count;
}
