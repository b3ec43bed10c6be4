//===- runtime/checkpoint/SavedVariables.cpp - which variables are saved, under which names
//---------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SavedVariables.h"

#include "runtime/engine/PlanViews.h"
#include "runtime/plan/LogicalVariable.h"

#include <map>

using namespace tgpt::runtime;
using tgpt::plan::Variable;

/// Dtypes of all logical tensors by name: a job has checked that copies of one, and windows on one, agree.
static std::map<std::string, DType> dtypesOf(const tgpt::plan::Plan &plan) {
  std::map<std::string, DType> dtypes;
  for (const tgpt::plan::StageProgram &stage : plan.stages())
    for (const Variable &variable : stage.variables())
      dtypes[logicalName(variable)] = dtypeOf(stage.buffers(variable.buffer()).dtype());
  return dtypes;
}

std::string tgpt::runtime::masterName(const std::string &parameter) {
  return parameter + ".master";
}

static std::string checkpointName(const Variable &variable) {
  switch (variable.role()) {
  case Variable::MASTER: return masterName(variable.parameter());
  case Variable::MOMENT1: return variable.parameter() + ".moment1";
  case Variable::MOMENT2: return variable.parameter() + ".moment2";
  case Variable::METRIC: return variable.name();
  case Variable::SCALING: return scalingPrefix + variable.name();
  default: return variable.parameter();
  }
}

template <typename Selects, typename Names>
static std::vector<SavedVariable> select(const Job &job, Selects &&selects, Names &&nameOf) {
  std::map<std::string, DType> dtypes = dtypesOf(job.plan());
  std::vector<SavedVariable> selected;
  for (const std::string &name : job.variableNames()) {
    const Variable &variable = job.variable(name);
    if (!selects(variable.role()))
      continue;
    const auto &shape = variable.global_shape();
    selected.push_back({.variable = name,
                        .tensor = nameOf(variable),
                        .role = variable.role(),
                        .parameter = variable.parameter(),
                        .dtype = dtypes.at(name),
                        .shape = {shape.begin(), shape.end()}});
  }
  return selected;
}

std::vector<SavedVariable> tgpt::runtime::weightsOf(const Job &job) {
  return select(
      job, [](auto role) { return role == Variable::PARAMETER; }, checkpointName);
}

std::vector<SavedVariable> tgpt::runtime::optimizerStateOf(const Job &job) {
  auto isState = [](auto role) {
    return role == Variable::MASTER || role == Variable::MOMENT1 || role == Variable::MOMENT2 ||
           role == Variable::SCALING;
  };
  return select(job, isState, checkpointName);
}

std::vector<SavedVariable> tgpt::runtime::gradientsOf(const Job &job) {
  std::vector<SavedVariable> all = select(
      job, [](auto role) { return role == Variable::GRADIENT; }, checkpointName);
  std::vector<SavedVariable> gradients;
  std::map<std::string, std::vector<std::string>> uses; // of a parameter
  for (const SavedVariable &variable : all) {
    if (variable.variable.find(".carry.") != std::string::npos)
      continue; // the sum of some micro-batches
    if (variable.variable.find(".use.") != std::string::npos)
      uses[variable.parameter].push_back(variable.variable);
    else
      gradients.push_back(variable);
  }
  for (SavedVariable &gradient : gradients)
    gradient.addends = uses[gradient.parameter];
  return gradients;
}

std::vector<SavedVariable> tgpt::runtime::allVariablesOf(const Job &job) {
  return select(
      job, [](auto role) { return role != Variable::METRIC; },
      [](const Variable &variable) { return variable.name(); });
}
