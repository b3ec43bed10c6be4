//===- CheckVariables.cpp - the variables of each stage ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After these checks a variable's shard fits its buffer, lies in a region that keeps it, knows its first value, and
// shares no element with another.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// The checks of one stage.
class StageVariables {
public:
  StageVariables(const plan::StageProgram &stage, const RankGrid &grid, PlanProblems &problems)
      : stage(stage), grid(grid), problems(problems), place("stage " + std::to_string(stage.stage())) {}

  void check() {
    for (const plan::Variable &variable : stage.variables())
      checkVariable(variable);
    if (!problems.any())
      checkFlatApart();
    if (!problems.any())
      checkVariablesApart();
  }

private:
  void checkVariable(const plan::Variable &variable);
  void checkVariableRegion(const plan::Variable &variable, const std::string &where);
  void checkLocalShape(const plan::Variable &variable, const std::string &where);
  void checkFlatShape(const plan::Variable &variable, const std::string &where);
  void checkAxes(const plan::Variable &variable, const std::string &where);
  void checkFlatApart();
  void checkVariablesApart();
  void checkWindow(const plan::Variable &variable, const std::string &where);
  void checkInitializer(const plan::Variable &variable, const std::string &where);

  const plan::StageProgram &stage;
  const RankGrid &grid;
  PlanProblems &problems;
  std::string place;
};

} // namespace

/// Elements of the shard that a variable's `dims` give.
static int64_t shardElements(const plan::Variable &variable, const RankGrid &grid) {
  int64_t elements = 1;
  for (int i = 0; i < variable.dims_size(); ++i)
    elements *= variable.global_shape(i) / grid.sizeOf(variable.dims(i).axes());
  return elements;
}

static bool isPersistent(plan::Region::Kind kind) {
  return kind == plan::Region::PARAMETERS || kind == plan::Region::GRADIENTS || kind == plan::Region::OPTIMIZER;
}

void StageVariables::checkVariableRegion(const plan::Variable &variable, const std::string &where) {
  plan::Region::Kind kind = stage.regions(stage.buffers(variable.buffer()).region()).kind();
  auto mustBe = [&](plan::Region::Kind expected) {
    if (kind != expected)
      problems.add(where + ", a " + plan::Variable::Role_Name(variable.role()) + ", lies in a region of kind " +
                   plan::Region::Kind_Name(kind) + ", it belongs in " + plan::Region::Kind_Name(expected));
  };
  switch (variable.role()) {
  case plan::Variable::PARAMETER: return mustBe(plan::Region::PARAMETERS);
  case plan::Variable::MASTER:
  case plan::Variable::MOMENT1:
  case plan::Variable::MOMENT2:
  case plan::Variable::SCALING: return mustBe(plan::Region::OPTIMIZER);
  case plan::Variable::GRADIENT: return mustBe(plan::Region::GRADIENTS);
  case plan::Variable::METRIC:
    if (!isPersistent(kind))
      problems.add(where + " lies in a region of kind " + plan::Region::Kind_Name(kind) +
                   ", whose contents do not outlive a segment");
    return;
  default: problems.add(where + " has the unknown role " + std::to_string(static_cast<int>(variable.role())));
  }
}

void StageVariables::checkLocalShape(const plan::Variable &variable, const std::string &where) {
  const plan::Buffer &buffer = stage.buffers(variable.buffer());
  if (variable.has_flat())
    return checkFlatShape(variable, where);
  if (variable.global_shape_size() != buffer.shape_size() || variable.dims_size() != buffer.shape_size())
    return problems.add(where + " has " + std::to_string(variable.global_shape_size()) + " global dimensions and " +
                        std::to_string(variable.dims_size()) + " shardings, but its buffer has " +
                        std::to_string(buffer.shape_size()) + " dimensions");
  checkAxes(variable, where);
  if (problems.any())
    return;
  for (int i = 0; i < buffer.shape_size(); ++i) {
    int64_t parts = grid.sizeOf(variable.dims(i).axes());
    int64_t global = variable.global_shape(i);
    if (global < 1 || global % parts != 0 || global / parts != buffer.shape(i))
      problems.add(where + ": global dimension " + std::to_string(i) + " is " + std::to_string(global) + " over " +
                   std::to_string(parts) + " ranks, but the buffer holds " + std::to_string(buffer.shape(i)));
  }
  if (!tensorBytes(buffer.dtype(), variable.global_shape()))
    problems.add(where + " has a global shape whose bytes overflow");
}

/// Each axis spreads the variable once, in one way.
void StageVariables::checkAxes(const plan::Variable &variable, const std::string &where) {
  std::set<std::string> used;
  auto useAxes = [&](const auto &axes) {
    for (const std::string &axis : axes)
      if (axis == "pp" || !isMeshAxisName(axis))
        problems.add(where + " is spread over axis '" + axis +
                     "', only 'dp_replica', 'dp', 'tp' and 'tp_inner' are possible");
      else if (!used.insert(axis).second)
        problems.add(where + " uses axis '" + axis + "' twice");
  };
  for (const plan::DimSharding &dim : variable.dims())
    useAxes(dim.axes());
  useAxes(variable.partial_axes());
  useAxes(variable.flat().axes());
}

/// The shard ends within the flat tensor of which the buffer is a piece.
void StageVariables::checkFlatShape(const plan::Variable &variable, const std::string &where) {
  const plan::Buffer &buffer = stage.buffers(variable.buffer());
  if (variable.global_shape_size() != variable.dims_size() || variable.dims_size() > mostDimensions)
    return problems.add(where + " has " + std::to_string(variable.global_shape_size()) + " global dimensions and " +
                        std::to_string(variable.dims_size()) + " shardings, expected equally many and at most " +
                        std::to_string(mostDimensions));
  checkAxes(variable, where);
  if (!tensorBytes(buffer.dtype(), variable.global_shape()))
    problems.add(where + " has a global shape that is empty or whose bytes overflow");
  if (problems.any())
    return;
  for (int i = 0; i < variable.dims_size(); ++i)
    if (int64_t parts = grid.sizeOf(variable.dims(i).axes()); variable.global_shape(i) % parts != 0)
      return problems.add(where + ": global dimension " + std::to_string(i) + " is " +
                          std::to_string(variable.global_shape(i)) + " over " + std::to_string(parts) + " ranks");
  int64_t whole, begin = variable.flat().first_element(), elements = shardElements(variable, grid);
  if (__builtin_mul_overflow(tensorBytes(buffer.dtype(), buffer.shape()).value_or(0) / elementBytes(buffer.dtype()),
                             grid.sizeOf(variable.flat().axes()), &whole) ||
      begin < 0 || begin > whole || elements > whole - begin)
    problems.add(where + " has " + std::to_string(elements) + " elements from " + std::to_string(begin) +
                 " on in a flat tensor of " + std::to_string(whole));
}

/// A window has the variable's dimensions and begins inside of its tensor.
void StageVariables::checkWindow(const plan::Variable &variable, const std::string &where) {
  const plan::Window &window = variable.window();
  if (window.name().empty() || window.parameter().empty())
    problems.add(where + " is a window on a tensor without a name or parameter");
  if (window.shape_size() != variable.global_shape_size() || window.at_size() != variable.global_shape_size())
    return problems.add(where + " is a window of " + std::to_string(window.shape_size()) + " sizes at " +
                        std::to_string(window.at_size()) + " places, but has " +
                        std::to_string(variable.global_shape_size()) + " dimensions");
  for (int i = 0; i < window.shape_size(); ++i)
    if (window.at(i) < 0 || window.at(i) >= window.shape(i))
      problems.add(where + " is a window that begins at " + std::to_string(window.at(i)) + " of dimension " +
                   std::to_string(i) + " of " + std::to_string(window.shape(i)));
  if (!tensorBytes(stage.buffers(static_cast<int>(variable.buffer())).dtype(), window.shape()))
    problems.add(where + " is a window on a tensor whose bytes overflow");
}

void StageVariables::checkInitializer(const plan::Variable &variable, const std::string &where) {
  const plan::Initializer &initializer = variable.initializer();
  if (initializer.kind() != plan::Initializer::CONSTANT && initializer.kind() != plan::Initializer::NORMAL)
    return problems.add(where + " has no initializer");
  if (!std::isfinite(initializer.value()))
    problems.add(where + " starts from a value that is not finite");
  if (initializer.kind() != plan::Initializer::NORMAL)
    return;
  if (!std::isfinite(initializer.stddev()) || initializer.stddev() < 0)
    problems.add(where + " has the standard deviation " + std::to_string(initializer.stddev()));
  if (initializer.key().empty())
    problems.add(where + " starts from random values, but names no key");
  if (stage.buffers(variable.buffer()).dtype() == plan::I32)
    problems.add(where + " starts from random values, but is i32");
}

void StageVariables::checkVariable(const plan::Variable &variable) {
  std::string where = place + ", variable '" + variable.name() + "'";
  if (variable.name().empty())
    return problems.add(place + " has a variable without a name");
  if (variable.buffer() >= static_cast<uint32_t>(stage.buffers_size()))
    return problems.add(where + " lies in buffer " + std::to_string(variable.buffer()) + ", but the stage has " +
                        std::to_string(stage.buffers_size()) + " buffers");
  checkVariableRegion(variable, where);
  checkLocalShape(variable, where);
  if (variable.has_window())
    checkWindow(variable, where);
  checkInitializer(variable, where);
}

/// Variables of one flat tensor have different elements of it, cut over the same axes.
void StageVariables::checkFlatApart() {
  std::map<uint32_t, std::vector<const plan::Variable *>> byBuffer;
  for (const plan::Variable &variable : stage.variables())
    byBuffer[variable.buffer()].push_back(&variable);
  for (auto &[buffer, variables] : byBuffer) {
    std::sort(variables.begin(), variables.end(),
              [](const auto *a, const auto *b) { return a->flat().first_element() < b->flat().first_element(); });
    for (size_t i = 1; i < variables.size(); ++i) {
      const plan::Variable &before = *variables[i - 1], &variable = *variables[i];
      if (!before.has_flat() || !variable.has_flat())
        continue; // no flat tensor: checkVariablesApart
      std::string where = place + ", variables '" + before.name() + "' and '" + variable.name() + "' ";
      if (!std::equal(before.flat().axes().begin(), before.flat().axes().end(), variable.flat().axes().begin(),
                      variable.flat().axes().end()))
        problems.add(where + "share buffer '" + stage.buffers(buffer).name() + "', but are cut over different axes");
      else if (before.flat().first_element() + shardElements(before, grid) > variable.flat().first_element())
        problems.add(where + "overlap in the flat tensor of buffer '" + stage.buffers(buffer).name() + "'");
    }
  }
}

void StageVariables::checkVariablesApart() {
  std::set<std::string> names;
  std::vector<std::pair<Extent, const plan::Variable *>> extents;
  for (const plan::Variable &variable : stage.variables()) {
    if (!names.insert(variable.name()).second)
      problems.add(place + " has two variables named '" + variable.name() + "'");
    extents.emplace_back(extentOf(stage.buffers(variable.buffer())), &variable);
  }
  std::sort(extents.begin(), extents.end(), [](const auto &a, const auto &b) {
    return std::pair(a.first.region, a.first.begin) < std::pair(b.first.region, b.first.begin);
  });
  auto shareFlat = [](const plan::Variable &a, const plan::Variable &b) {
    return a.has_flat() && b.has_flat() && a.buffer() == b.buffer();
  };
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i - 1].first.overlaps(extents[i].first) && !shareFlat(*extents[i - 1].second, *extents[i].second))
      problems.add(place + ", variables '" + extents[i - 1].second->name() + "' and '" + extents[i].second->name() +
                   "' overlap in " + regionText(stage, extents[i].first.region));
}

void tgpt::runtime::checkVariables(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageVariables(stage, grid, problems).check();
}
