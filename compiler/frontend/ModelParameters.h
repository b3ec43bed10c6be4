//===- ModelParameters.h - the trainable tensors of a model -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, shapes and initialisers of a model's parameters, in the order in which
// the model file declares them. One entry with `layers` > 0 stands for that many
// parameters, one a layer; its name has a '*' in place of the layer's number.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_MODELPARAMETERS_H
#define TGPT_COMPILER_FRONTEND_MODELPARAMETERS_H

#include "compiler/frontend/ModelRecipe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

struct ModelParameter {
  std::string name;
  std::vector<int64_t> shape;
  double mean = 0;
  double stddev = 0;
  int64_t layers = 0;  // 0: one tensor outside the layers
  bool decayed = true; // false for norms and biases

  /// Elements over all layers.
  int64_t elements() const;
};

std::vector<ModelParameter> modelParameters(const ModelRecipe &recipe);

/// Trainable elements of the whole model.
int64_t parameterCount(const ModelRecipe &recipe);

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_MODELPARAMETERS_H
