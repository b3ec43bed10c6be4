//===- runtime/checkpoint/SavedVariables.h - which variables are saved, under which names -------------------------*-
// C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A checkpoint names its tensors after parameters, whatever a plan calls its
// variables: "p" (weights), "p.master", "p.moment1", "p.moment2" (optimizer).
// Gradients and metrics start anew every step and are not part of it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CHECKPOINT_SAVEDVARIABLES_H
#define TGPT_RUNTIME_CHECKPOINT_SAVEDVARIABLES_H

#include "runtime/engine/Job.h"

#include <string>
#include <vector>

namespace tgpt::runtime {

/// A variable of a plan and the tensor that stands for it in a file.
struct SavedVariable {
  std::string variable;
  std::string tensor;
  plan::Variable::Role role = plan::Variable::ROLE_UNSPECIFIED;
  std::string parameter;
  DType dtype = DType::F32;
  std::vector<int64_t> shape = {}; // global
  std::vector<std::string> addends = {}; // further variables, which are added to it
};

std::vector<SavedVariable> weightsOf(const Job &job);        // PARAMETER
std::vector<SavedVariable> optimizerStateOf(const Job &job); // MASTER, MOMENT1, MOMENT2, SCALING
/// Named after their parameters. Canonical reduction keeps the uses of a tied weight apart:
/// their sum is the gradient.
std::vector<SavedVariable> gradientsOf(const Job &job);
/// All that are no METRIC, under the plan's own names.
std::vector<SavedVariable> allVariablesOf(const Job &job);

/// What the tensors of a loss scaling begin with.
inline const std::string scalingPrefix = "loss_scaling.";

/// Tensor name of a parameter's master copy.
std::string masterName(const std::string &parameter);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_SAVEDVARIABLES_H
