//===- VariableTable.cpp - variables across all ranks -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank holds a shard (by the axes of `dims`) of an addend (by `partial_axes`);
// ranks that differ in other axes only are replicas.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/VariableTable.h"
#include "runtime/comm/BlockCopy.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

VariableTable::VariableTable(const plan::Plan &plan, const RankGrid &grid,
                             const std::vector<std::unique_ptr<Arena>> &arenas)
    : plan(plan), grid(grid), arenas(arenas) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables()) {
      Copies &copies = variables[variable.name()];
      copies.insert(variable.owner() ? copies.begin() : copies.end(), {stage.stage(), &variable});
    }
}

std::vector<std::string> VariableTable::names() const {
  std::vector<std::string> result;
  for (const auto &[name, copies] : variables)
    result.push_back(name);
  return result;
}

const VariableTable::Copies &VariableTable::copiesOf(std::string_view name) const {
  auto found = variables.find(name);
  if (found != variables.end())
    return found->second;
  std::string nearest = nearestName(name, names());
  throw Error("the plan has no variable '" + std::string(name) + "'" +
              (nearest.empty() ? "" : ", the nearest name is '" + nearest + "'"));
}

const plan::Variable &VariableTable::entry(std::string_view name) const {
  return *copiesOf(name).front().variable;
}

const plan::Buffer &VariableTable::bufferOf(const Copy &copy) const {
  return plan.stages(static_cast<int>(copy.stage)).buffers(static_cast<int>(copy.variable->buffer()));
}

TensorView VariableTable::localView(const Copy &copy, int64_t rank) const {
  const plan::StageProgram &stage = plan.stages(static_cast<int>(copy.stage));
  return viewOf(bufferOf(copy), addressOf(stage, copy.variable->buffer(), 0, arenas[rank]->base()));
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
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    if (axis.name() != "pp" && !used.count(axis.name()) && grid.coordinate(rank, axis.name()) != 0)
      return false;
  return true;
}

LogicalTensor VariableTable::emptyTensor(const Copy &copy) const {
  LogicalTensor tensor;
  tensor.dtype = dtypeOf(bufferOf(copy).dtype());
  tensor.shape.assign(copy.variable->global_shape().begin(), copy.variable->global_shape().end());
  tensor.bytes.resize(tensor.view().bytes());
  return tensor;
}

/// Adds up the addends of the shard that `rank` (addend 0) holds, and puts the sum in its place.
void VariableTable::gatherShard(const Copy &copy, int64_t rank, const LogicalTensor &into) const {
  TensorView local = localView(copy, rank);
  TensorIndex start = shardOf(*copy.variable, bufferOf(copy), grid, rank).start;
  plan::Group addends;
  *addends.mutable_axes() = copy.variable->partial_axes();
  if (grid.sizeOf(addends.axes()) == 1)
    return copyBlock(local, {}, into.view(), start, local.shape);
  std::vector<double> sums(local.elements());
  for (int64_t member : grid.groupMembers(addends, rank))
    for (int64_t i = 0; i < local.elements(); ++i)
      sums[i] += loadElement(localView(copy, member), i);
  std::vector<std::byte> bytes(local.bytes());
  TensorView sum = local;
  sum.data = bytes.data();
  for (int64_t i = 0; i < local.elements(); ++i)
    storeElement(sum, sums[i], i);
  copyBlock(sum, {}, into.view(), start, local.shape);
}

LogicalTensor VariableTable::read(std::string_view name) const {
  const Copy &copy = copiesOf(name).front();
  LogicalTensor tensor = emptyTensor(copy);
  for (int64_t rank : holders(copy))
    if (isFirstReplica(copy, rank) && grid.indexAlong(rank, copy.variable->partial_axes()) == 0)
      gatherShard(copy, rank, tensor);
  return tensor;
}

void VariableTable::write(std::string_view name, const LogicalTensor &value) const {
  const Copies &copies = copiesOf(name);
  LogicalTensor expected = emptyTensor(copies.front());
  if (value.dtype != expected.dtype || value.shape != expected.shape || value.bytes.size() != expected.bytes.size())
    throw Error("variable '" + std::string(name) + "' is " +
                tensorText(bufferOf(copies.front()).dtype(), expected.shape) + " of " +
                std::to_string(expected.bytes.size()) + " bytes, but the value given has " +
                std::to_string(value.shape.size()) + " dimensions and " + std::to_string(value.bytes.size()) +
                " bytes" + (value.dtype != expected.dtype ? " of another dtype" : ""));
  for (const Copy &copy : copies)
    for (int64_t rank : holders(copy)) {
      TensorView local = localView(copy, rank);
      TensorIndex start = shardOf(*copy.variable, bufferOf(copy), grid, rank).start;
      if (grid.indexAlong(rank, copy.variable->partial_axes()) == 0)
        copyBlock(value.view(), start, local, {}, local.shape);
      else
        std::memset(local.data, 0, local.bytes());
    }
}

void VariableTable::failDifferent(const Copy &copy, const std::string &source, const TensorView &expected,
                                  int64_t rank) const {
  TensorView local = localView(copy, rank);
  size_t size = sizeInBytes(local.dtype);
  int64_t i = 0;
  while (std::memcmp(expected.as<char>() + i * size, local.as<char>() + i * size, size) == 0)
    ++i;
  throw Error("copies of variable '" + copy.variable->name() + "' differ: local element " + std::to_string(i) + " of " +
              grid.describe(rank) + " is " + std::to_string(loadElement(local, i)) + ", but " + source + " has " +
              std::to_string(loadElement(expected, i)));
}

/// Every holder's shard equals its part of the assembled tensor.
void VariableTable::verifyAgainst(const LogicalTensor &expected, const Copy &copy, int64_t ownerStage) const {
  for (int64_t rank : holders(copy)) {
    TensorView local = localView(copy, rank);
    std::vector<std::byte> bytes(local.bytes());
    TensorView part = local;
    part.data = bytes.data();
    copyBlock(expected.view(), shardOf(*copy.variable, bufferOf(copy), grid, rank).start, part, {}, local.shape);
    if (std::memcmp(part.data, local.data, local.bytes()) != 0)
      failDifferent(copy, "the first copy in stage " + std::to_string(ownerStage), part, rank);
  }
}

/// Addends differ by design: only replicas of one addend are compared.
void VariableTable::verifyPartial(const Copy &copy) const {
  for (int64_t first : holders(copy)) {
    if (!isFirstReplica(copy, first))
      continue;
    TensorView expected = localView(copy, first);
    auto place = [&](int64_t rank) {
      return std::pair(shardOf(*copy.variable, bufferOf(copy), grid, rank).start,
                       grid.indexAlong(rank, copy.variable->partial_axes()));
    };
    for (int64_t rank : holders(copy)) {
      TensorView local = localView(copy, rank);
      if (place(rank) == place(first) && std::memcmp(expected.data, local.data, local.bytes()) != 0)
        failDifferent(copy, grid.describe(first), expected, rank);
    }
  }
}

void VariableTable::verifyCopiesEqual() const {
  for (const auto &[name, copies] : variables) {
    // A metric is each stage's own counter.
    if (copies.front().variable->role() == plan::Variable::METRIC)
      continue;
    bool partial = std::any_of(copies.begin(), copies.end(),
                               [](const Copy &copy) { return copy.variable->partial_axes_size() > 0; });
    LogicalTensor expected = partial ? LogicalTensor() : read(name);
    for (const Copy &copy : copies)
      partial ? verifyPartial(copy) : verifyAgainst(expected, copy, copies.front().stage);
  }
}

void VariableTable::initialize(int64_t rank) const {
  for (const auto &[name, copies] : variables)
    for (const Copy &copy : copies)
      if (copy.stage == grid.stageOf(rank))
        runtime::initialize(copy.variable->initializer(), plan.seed(),
                            shardOf(*copy.variable, bufferOf(copy), grid, rank), localView(copy, rank));
}
