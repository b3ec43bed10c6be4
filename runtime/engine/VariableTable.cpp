//===- VariableTable.cpp - variables across all ranks -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank holds a shard (by the axes of `dims`), or a run of its elements (by the axes
// of `flat`), of an addend (by `partial_axes`); ranks that differ in other axes only
// are replicas.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/VariableTable.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/LogicalVariable.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

VariableTable::VariableTable(const plan::Plan &plan, const RankGrid &grid,
                             const std::vector<std::unique_ptr<Arena>> &arenas, const std::vector<int64_t> &own)
    : plan(plan), grid(grid), arenas(arenas), own(own) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables()) {
      Logical &logical = variables[logicalName(variable)];
      if (logical.parts.empty())
        logical.entry = logicalVariable(variable);
      auto part = std::find_if(logical.parts.begin(), logical.parts.end(), [&](const Copies &copies) {
        return copies.front().variable->name() == variable.name();
      });
      Copies &copies = part == logical.parts.end() ? logical.parts.emplace_back() : *part;
      copies.insert(variable.owner() ? copies.begin() : copies.end(), {stage.stage(), &variable});
    }
}

std::vector<std::string> VariableTable::names() const {
  std::vector<std::string> result;
  for (const auto &[name, logical] : variables)
    result.push_back(name);
  return result;
}

const VariableTable::Logical &VariableTable::find(std::string_view name) const {
  auto found = variables.find(name);
  if (found != variables.end())
    return found->second;
  std::string nearest = nearestName(name, names());
  throw Error("the plan has no variable '" + std::string(name) + "'" +
              (nearest.empty() ? "" : ", the nearest name is '" + nearest + "'"));
}

const plan::Variable &VariableTable::entry(std::string_view name) const {
  return find(name).entry;
}

const plan::Buffer &VariableTable::bufferOf(const Copy &copy) const {
  return plan.stages(static_cast<int>(copy.stage)).buffers(static_cast<int>(copy.variable->buffer()));
}

ShardRun VariableTable::runOf(const Copy &copy, int64_t rank) const {
  ShardRun run =
      runtime::runOf(*copy.variable, plan.stages(static_cast<int>(copy.stage)), grid, rank, arenas[rank]->base());
  if (refresh)
    refresh(rank, run.elements.data, run.elements.bytes());
  return run;
}

std::vector<int64_t> VariableTable::holders(const Copy &copy) const {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    if (grid.stageOf(rank) == copy.stage)
      ranks.push_back(rank);
  return ranks;
}

/// No replica of this shard (and addend) has a smaller rank number.
bool VariableTable::isFirstReplica(const Copy &copy, int64_t rank) const {
  std::set<std::string> used(copy.variable->partial_axes().begin(), copy.variable->partial_axes().end());
  for (const plan::DimSharding &dim : copy.variable->dims())
    used.insert(dim.axes().begin(), dim.axes().end());
  used.insert(copy.variable->flat().axes().begin(), copy.variable->flat().axes().end());
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    if (axis.name() != "pp" && !used.count(axis.name()) && grid.coordinate(rank, axis.name()) != 0)
      return false;
  return true;
}

LogicalTensor VariableTable::emptyTensor(const Logical &logical) const {
  LogicalTensor tensor;
  tensor.dtype = dtypeOf(bufferOf(logical.parts.front().front()).dtype());
  tensor.shape.assign(logical.entry.global_shape().begin(), logical.entry.global_shape().end());
  tensor.bytes.resize(tensor.view().bytes());
  return tensor;
}

LogicalTensor VariableTable::read(std::string_view name) const {
  const Logical &logical = find(name);
  LogicalTensor tensor = emptyTensor(logical);
  for (const Copies &copies : logical.parts)
    for (int64_t rank : holders(copies.front())) {
      const Copy &copy = copies.front();
      if (isFirstReplica(copy, rank) && grid.indexAlong(rank, copy.variable->partial_axes()) == 0)
        gatherShard(copy, rank, tensor);
    }
  return tensor;
}

/// Gives a rank its elements of the value; the others of its addends are 0, and padding stays.
static void writeTo(const ShardRun &run, bool isFirstAddend, const LogicalTensor &value) {
  if (isFirstAddend)
    value.copyRun(run, run.elements.as<std::byte>());
  else if (run.count() > 0)
    std::memset(run.elements.data, 0, run.elements.bytes());
}

void VariableTable::write(std::string_view name, const LogicalTensor &value) const {
  const Logical &logical = find(name);
  LogicalTensor expected = emptyTensor(logical);
  if (value.dtype != expected.dtype || value.shape != expected.shape || value.bytes.size() != expected.bytes.size())
    throw Error("variable '" + std::string(name) + "' is " +
                tensorText(bufferOf(logical.parts.front().front()).dtype(), expected.shape) + " of " +
                std::to_string(expected.bytes.size()) + " bytes, but the value given has " +
                std::to_string(value.shape.size()) + " dimensions and " + std::to_string(value.bytes.size()) +
                " bytes" + (value.dtype != expected.dtype ? " of another dtype" : ""));
  for (const Copies &copies : logical.parts)
    for (const Copy &copy : copies)
      for (int64_t rank : own)
        if (grid.stageOf(rank) == copy.stage)
          writeTo(runOf(copy, rank), grid.indexAlong(rank, copy.variable->partial_axes()) == 0, value);
}

/// Clears what outlives a segment: flat tensors have elements that belong to no variable.
static void clearPersistentRegions(const plan::StageProgram &stage, std::byte *arena) {
  for (const plan::Region &region : stage.regions())
    if (isPersistent(region))
      std::memset(arena + region.offset_bytes(), 0, region.slot_bytes());
}

void VariableTable::initialize(int64_t rank) const {
  clearPersistentRegions(plan.stages(static_cast<int>(grid.stageOf(rank))), arenas[rank]->base());
  for (const auto &[name, logical] : variables)
    for (const Copies &copies : logical.parts)
      for (const Copy &copy : copies)
        if (copy.stage == grid.stageOf(rank))
          runtime::initialize(copy.variable->initializer(), plan.seed(), runOf(copy, rank));
}
