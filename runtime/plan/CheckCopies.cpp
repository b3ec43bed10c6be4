//===- CheckCopies.cpp - variables of several stages ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variable that several stages hold is the same one everywhere and has one owner; the windows on a tensor are all of
// it, once.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/LogicalVariable.h"
#include "runtime/plan/PlanProblems.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

/// Copies of one variable in several stages agree, and exactly one is the owner's.
static void checkStageCopies(const plan::Plan &plan, PlanProblems &problems) {
  struct Copies {
    const plan::Variable *first;
    const plan::Buffer *buffer;
    int64_t stage;
    int owners = 0;
  };
  std::map<std::string, Copies> byName;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables()) {
      const plan::Buffer &buffer = stage.buffers(variable.buffer());
      Copies &copies = byName.try_emplace(variable.name(), Copies{&variable, &buffer, stage.stage()}).first->second;
      copies.owners += variable.owner();
      bool same = copies.first->role() == variable.role() && copies.buffer->dtype() == buffer.dtype() &&
                  std::equal(variable.global_shape().begin(), variable.global_shape().end(),
                             copies.first->global_shape().begin(), copies.first->global_shape().end()) &&
                  copies.first->window().SerializeAsString() == variable.window().SerializeAsString() &&
                  copies.first->initializer().SerializeAsString() == variable.initializer().SerializeAsString();
      if (!same)
        problems.add("variable '" + variable.name() + "' differs between stage " + std::to_string(copies.stage) +
                     " and stage " + std::to_string(stage.stage()) +
                     " in role, dtype, global shape, window or initializer");
    }
  for (const auto &[name, copies] : byName)
    if (copies.owners != 1 && copies.first->role() != plan::Variable::METRIC)
      problems.add("variable '" + name + "' has " + std::to_string(copies.owners) +
                   " owner stages, it must have exactly one");
}

/// Elements that two windows on one tensor both have; also those of one, with itself.
static int64_t commonElements(const plan::Variable &a, const plan::Variable &b) {
  int64_t elements = 1;
  for (int i = 0; i < a.global_shape_size(); ++i) {
    int64_t begin = std::max(windowStart(a, i), windowStart(b, i)), end = std::min(windowEnd(a, i), windowEnd(b, i));
    elements *= std::max<int64_t>(end - begin, 0);
  }
  return elements;
}

/// The windows on one tensor agree about it and have each of its elements once.
static void checkWindows(const plan::Plan &plan, PlanProblems &problems) {
  struct Part {
    const plan::Variable *variable;
    plan::DType dtype;
  };
  std::map<std::string, std::vector<Part>> byTensor;
  std::set<std::string> seen;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables())
      if (seen.insert(variable.name()).second)
        byTensor[logicalName(variable)].push_back({&variable, stage.buffers(variable.buffer()).dtype()});
  for (const auto &[name, parts] : byTensor) {
    plan::Variable whole = logicalVariable(*parts.front().variable);
    int64_t elements = 1, covered = 0;
    for (int64_t size : whole.global_shape())
      elements *= size;
    for (size_t i = 0; i < parts.size() && !problems.full(); ++i) {
      const plan::Variable &part = *parts[i].variable;
      plan::Variable ownWhole = logicalVariable(part);
      if (ownWhole.role() != whole.role() || ownWhole.parameter() != whole.parameter() ||
          parts[i].dtype != parts.front().dtype ||
          !std::equal(ownWhole.global_shape().begin(), ownWhole.global_shape().end(), whole.global_shape().begin(),
                      whole.global_shape().end())) {
        problems.add("variables '" + parts.front().variable->name() + "' and '" + part.name() + "' are windows on '" +
                     name + "', but differ in its shape, dtype, role or parameter");
        return;
      }
      covered += commonElements(part, part);
      for (size_t j = 0; j < i; ++j)
        if (commonElements(*parts[j].variable, part) > 0)
          problems.add("variables '" + parts[j].variable->name() + "' and '" + part.name() +
                       "' both have elements of '" + name + "'");
    }
    if (covered < elements)
      problems.add("the variables that are windows on '" + name + "' have " + std::to_string(covered) + " of its " +
                   std::to_string(elements) + " elements");
  }
}

void tgpt::runtime::checkCopies(const plan::Plan &plan, PlanProblems &problems) {
  checkStageCopies(plan, problems);
  if (!problems.any())
    checkWindows(plan, problems);
}
