//===- test/e2e/Configuration.h - one draw of the sweep -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A configuration is a model, the options of its compilation and which labels are
// ignored. A new option of the compiler joins the sweep with one draw in
// Configuration.cpp: in `model` where it changes what is computed (dropout), in `grid`
// where it must not (ZeRO, recompute).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_CONFIGURATION_H
#define TGPT_TEST_E2E_CONFIGURATION_H

#include "compiler/driver/CompileOptions.h"
#include "compiler/frontend/ModelRecipe.h"
#include "test/e2e/TokenPattern.h"

#include <cstdint>
#include <random>
#include <string>

namespace tgpt {

struct Configuration {
  ModelRecipe model;
  CompileOptions options;
  runtime::IgnoredLabels ignored = runtime::IgnoredLabels::None;

  int64_t globalSamples() const {
    return options.globalBatch ? options.globalBatch : options.dp * options.microBatches * options.microBatchSamples;
  }
  int64_t ranks() const { return options.dp * options.pp * options.tp; }
  /// All of it in a line, flags as tgpt-opt takes them.
  std::string text() const;
};

/// Draws configurations: the same ones for the same seed, on any machine.
class ConfigurationDraw {
public:
  explicit ConfigurationDraw(uint64_t seed) : random(seed) {}

  /// A model, a global batch and ignored labels, on one rank.
  Configuration model();
  /// The same with another grid and the options that must not change the numbers.
  Configuration grid(const Configuration &model);

private:
  /// One of the values, each as likely (std distributions differ between libraries).
  template <typename T> T oneOf(std::initializer_list<T> values) { return values.begin()[random() % values.size()]; }
  bool coin() { return random() & 1; }
  std::vector<int64_t> stages(int64_t layers, int64_t virtualStages);

  std::mt19937_64 random;
};

/// For tests that draw: how many, from which seed on.
int64_t numberFromEnvironment(const char *variable, int64_t otherwise);

} // namespace tgpt

#endif // TGPT_TEST_E2E_CONFIGURATION_H
