//===- runtime/checkpoint/ReadVariables.cpp - a job's variables from files ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ReadVariables.h"

#include "runtime/checkpoint/ConvertTensor.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <set>

using namespace tgpt::runtime;
using tgpt::plan::Variable;

namespace {
struct Source {
  const SafetensorsReader *file = nullptr;
  const StoredTensor *tensor = nullptr;
};

/// Finds a source for every variable and collects what does not fit.
class Matcher {
public:
  Matcher(const SafetensorsReader &weights, const SafetensorsReader *optimizer)
      : weights(weights), optimizer(optimizer) {}

  void match(const std::vector<SavedVariable> &variables);
  void rejectUnused();
  void throwMisfits() const;
  ReadCounts writeTo(Job &job) const;

private:
  Source sourceOf(const SavedVariable &variable) const;
  Source findIn(const SafetensorsReader *file, const std::string &name) const;
  void check(const SavedVariable &variable, const Source &source);
  void rejectUnusedOf(const SafetensorsReader &file);

  const SafetensorsReader &weights;
  const SafetensorsReader *optimizer;
  std::vector<std::pair<SavedVariable, Source>> matches;
  std::set<std::string> known; // tensor names that belong to variables of the plan
  std::vector<std::string> misfits;
};
} // namespace

Source Matcher::findIn(const SafetensorsReader *file, const std::string &name) const {
  const StoredTensor *tensor = file ? file->find(name) : nullptr;
  return tensor ? Source{file, tensor} : Source{};
}

Source Matcher::sourceOf(const SavedVariable &variable) const {
  if (variable.role == Variable::MOMENT1 || variable.role == Variable::MOMENT2 || variable.role == Variable::SCALING)
    return findIn(optimizer, variable.tensor);
  Source parameter = findIn(&weights, variable.parameter);
  Source master = findIn(optimizer, masterName(variable.parameter));
  if (variable.role == Variable::MASTER)
    return master.tensor ? master : parameter;
  bool isExact = parameter.tensor && parameter.tensor->dtype == variable.dtype;
  return isExact || !master.tensor ? parameter : master;
}

void Matcher::check(const SavedVariable &variable, const Source &source) {
  std::string name = "'" + variable.tensor + "' ";
  if (!source.tensor)
    misfits.push_back(name + "is in the plan, but not in the file");
  else if (source.tensor->shape != variable.shape)
    misfits.push_back(name + "has shape " + describeShape(source.tensor->shape) + " in the file, " +
                      describeShape(variable.shape) + " in the plan");
  else if (!isConvertible(source.tensor->dtype, variable.dtype))
    misfits.push_back(name + "holds integers on one side, reals on the other");
}

void Matcher::match(const std::vector<SavedVariable> &variables) {
  for (const SavedVariable &variable : variables) {
    Source source = sourceOf(variable);
    if (variable.role == Variable::SCALING && !source.tensor)
      continue;
    check(variable, source);
    matches.emplace_back(variable, source);
    known.insert(variable.tensor);
    known.insert(masterName(variable.parameter)); // a plan without master copies may drop them
  }
}

void Matcher::rejectUnusedOf(const SafetensorsReader &file) {
  for (const StoredTensor &tensor : file.getHeader().tensors)
    if (!known.count(tensor.name) && tensor.name.rfind(scalingPrefix, 0) != 0)
      misfits.push_back("'" + tensor.name + "' is in the file, but not in the plan");
}

void Matcher::rejectUnused() {
  rejectUnusedOf(weights);
  if (optimizer)
    rejectUnusedOf(*optimizer);
}

void Matcher::throwMisfits() const {
  if (misfits.empty())
    return;
  throw Error("'" + weights.getPath().string() + "' does not fit the plan: tensor " + misfits.front() + " (misfits: " +
              std::to_string(misfits.size()) + "; tensors of the plan: " + std::to_string(matches.size()) + ")");
}

ReadCounts Matcher::writeTo(Job &job) const {
  ReadCounts counts;
  for (const auto &[variable, source] : matches) {
    job.writeVariable(variable.variable, convertTensor(source.file->read(*source.tensor), variable.dtype));
    ++counts.variables;
    counts.converted += source.tensor->dtype != variable.dtype;
  }
  return counts;
}

static ReadCounts read(Job &job, Matcher matcher, const std::vector<SavedVariable> &weights,
                       const std::vector<SavedVariable> &state) {
  matcher.match(weights);
  matcher.match(state);
  matcher.rejectUnused();
  matcher.throwMisfits();
  return matcher.writeTo(job);
}

ReadCounts tgpt::runtime::readCheckpointVariables(Job &job, const SafetensorsReader &weights,
                                                  const SafetensorsReader &optimizer) {
  return read(job, Matcher(weights, &optimizer), weightsOf(job), optimizerStateOf(job));
}

ReadCounts tgpt::runtime::readWeights(Job &job, const SafetensorsReader &weights) {
  std::vector<SavedVariable> masters = optimizerStateOf(job);
  std::erase_if(masters, [](const SavedVariable &variable) { return variable.role != Variable::MASTER; });
  return read(job, Matcher(weights, nullptr), weightsOf(job), masters);
}
