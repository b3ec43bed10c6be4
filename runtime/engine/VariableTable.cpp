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
#include "cost/SumNodes.h"
#include "runtime/comm/ReduceRange.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/LogicalVariable.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

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

/// Copies the elements of a run into the global tensor, from `held`.
static void scatter(const ShardRun &run, const std::byte *held, const LogicalTensor &into) {
  size_t size = sizeInBytes(into.dtype);
  std::byte *global = into.view().as<std::byte>();
  forEachRow(run, [&](int64_t from, int64_t to, int64_t length) {
    std::memcpy(global + to * size, held + from * size, length * size);
  });
}

/// Copies a run's elements of the global tensor to `held`.
static void pick(const ShardRun &run, const LogicalTensor &from, std::byte *held) {
  size_t size = sizeInBytes(from.dtype);
  const std::byte *global = from.bytes.data();
  forEachRow(run, [&](int64_t to, int64_t at, int64_t length) {
    std::memcpy(held + to * size, global + at * size, length * size);
  });
}

/// The variable whose buffer that is; null for any other buffer.
static const plan::Variable *variableIn(const plan::StageProgram &stage, uint32_t buffer) {
  for (const plan::Variable &variable : stage.variables())
    if (variable.buffer() == buffer)
      return &variable;
  return nullptr;
}

static const plan::Variable *variableNamed(const plan::StageProgram &stage, const std::string &name) {
  for (const plan::Variable &variable : stage.variables())
    if (variable.name() == name)
      return &variable;
  return nullptr;
}

/// The variables that hold the nodes of a rank's part of a sum, and how many addends these are of: this one alone holds
/// one, unless an accumulate_nodes, be it of another stage that has the variable, keeps more of them.
std::vector<VariableTable::Copy> VariableTable::nodesOf(const Copy &copy, int64_t &addends) const {
  const plan::StageProgram &own = plan.stages(static_cast<int>(copy.stage));
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      for (const plan::Instruction &instruction : segment.instructions()) {
        if (instruction.opcode() != "accumulate_nodes")
          continue;
        const plan::Variable *first = variableIn(stage, instruction.outputs(0));
        if (!first || first->name() != copy.variable->name())
          continue;
        for (const plan::Attribute &attribute : instruction.attributes())
          if (attribute.name() == "micro_batches" || attribute.name() == "parts")
            addends *= attribute.i();
        std::vector<Copy> nodes;
        for (uint32_t buffer : instruction.outputs())
          if (const plan::Variable *node = variableIn(stage, buffer))
            if (const plan::Variable *here = variableNamed(own, node->name()))
              nodes.push_back({copy.stage, here});
        return nodes;
      }
  return {copy};
}

namespace {
/// Nodes of a tree of additions (cost/SumNodes.h), given from the left.
class NodeSums {
public:
  NodeSums(DType dtype, int64_t count) : dtype(dtype), count(count) {}

  void add(SumNode node, const std::byte *values) {
    nodes.push_back(node);
    sums.emplace_back(values, values + count * sizeInBytes(dtype));
    while (nodes.size() > 1 && nodes[nodes.size() - 2].joins(nodes.back()))
      join();
  }
  const std::byte *total() {
    while (nodes.size() > 1)
      join();
    return sums.front().data();
  }

private:
  void join() {
    std::vector<std::byte> right = std::move(sums.back());
    nodes[nodes.size() - 2].count += nodes.back().count;
    nodes.pop_back();
    sums.pop_back();
    const void *both[] = {sums.back().data(), right.data()};
    void *sum = sums.back().data();
    reduceRange(dtype, Reduction::TreeSum, both, 0, {&sum, 1}, 0, count);
  }

  DType dtype;
  int64_t count;
  std::vector<SumNode> nodes;
  std::vector<std::vector<std::byte>> sums;
};
} // namespace

/// Adds up the addends of the elements that `rank` (addend 0) holds, and puts the sum in its place. In a tree over
/// the ranks: where all sums of a step are trees, so is what is read of it.
void VariableTable::gatherShard(const Copy &copy, int64_t rank, const LogicalTensor &into) const {
  ShardRun run = runOf(copy, rank);
  plan::Group addends;
  *addends.mutable_axes() = copy.variable->partial_axes();
  if (grid.sizeOf(addends.axes()) == 1)
    return scatter(run, run.elements.as<std::byte>(), into);
  std::vector<int64_t> members = grid.groupMembers(addends, rank);
  std::sort(members.begin(), members.end());
  int64_t ofRank = 1; // addends
  std::vector<Copy> nodes = nodesOf(copy, ofRank);
  NodeSums sums(run.elements.dtype, run.count());
  for (size_t m = 0; m < members.size(); ++m) {
    int64_t next = int64_t(m) * ofRank, end = next + ofRank;
    for (size_t i = 0; i < nodes.size() && next < end; ++i) {
      SumNode node = firstSumNode(next, end);
      sums.add(node, runOf(nodes[i], members[m]).elements.as<std::byte>());
      next = node.end();
    }
  }
  scatter(run, sums.total(), into);
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
    pick(run, value, run.elements.as<std::byte>());
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

/// The same bits, or two zeros (a sum of no terms is +0, a product may be -0).
static bool sameElement(const TensorView &a, const TensorView &b, int64_t i) {
  size_t size = sizeInBytes(a.dtype);
  return std::memcmp(a.as<std::byte>() + i * size, b.as<std::byte>() + i * size, size) == 0 ||
         (loadElement(a, i) == 0 && loadElement(b, i) == 0);
}

static bool sameElements(const TensorView &a, const std::byte *b) {
  if (a.elements() == 0 || std::memcmp(a.data, b, a.bytes()) == 0)
    return true;
  TensorView other = a;
  other.data = const_cast<std::byte *>(b);
  for (int64_t i = 0; i < a.elements(); ++i)
    if (!sameElement(a, other, i))
      return false;
  return true;
}

void VariableTable::failDifferent(const Copy &copy, const std::string &source, const std::byte *expected,
                                  int64_t rank) const {
  TensorView held = runOf(copy, rank).elements;
  TensorView other = held;
  other.data = const_cast<std::byte *>(expected);
  int64_t i = 0;
  while (sameElement(held, other, i))
    ++i;
  throw Error("copies of variable '" + copy.variable->name() + "' differ: local element " + std::to_string(i) + " of " +
              grid.describe(rank) + " is " + std::to_string(loadElement(held, i)) + ", but " + source + " has " +
              std::to_string(loadElement(other, i)));
}

/// What every rank holds equals its part of the assembled tensor, and its padding is 0.
void VariableTable::verifyAgainst(const LogicalTensor &expected, const Copy &copy, int64_t ownerStage) const {
  for (int64_t rank : holders(copy)) {
    ShardRun run = runOf(copy, rank);
    std::vector<std::byte> part(run.elements.bytes());
    pick(run, expected, part.data());
    if (!sameElements(run.elements, part.data()))
      failDifferent(copy, "the first copy in stage " + std::to_string(ownerStage), part.data(), rank);
  }
}

/// Addends differ by design: only replicas of one addend are compared.
void VariableTable::verifyPartial(const Copy &copy) const {
  auto place = [&](int64_t rank, const ShardRun &run) {
    return std::tuple(run.shard.start, run.first, run.count(), grid.indexAlong(rank, copy.variable->partial_axes()));
  };
  for (int64_t first : holders(copy)) {
    if (!isFirstReplica(copy, first))
      continue;
    ShardRun expected = runOf(copy, first);
    for (int64_t rank : holders(copy)) {
      ShardRun run = runOf(copy, rank);
      if (run.count() > 0 && place(rank, run) == place(first, expected) &&
          !sameElements(run.elements, expected.elements.as<std::byte>()))
        failDifferent(copy, grid.describe(first), expected.elements.as<std::byte>(), rank);
    }
  }
}

void VariableTable::verifyCopiesEqual() const {
  for (const auto &[name, logical] : variables) {
    // A metric is each stage's own counter, and so is a sum that waits for others (canonical reduction).
    if (logical.entry.role() == plan::Variable::METRIC || name.find(".carry.") != std::string::npos)
      continue;
    auto isPartial = [](const Copy &copy) { return copy.variable->partial_axes_size() > 0; };
    LogicalTensor expected;
    for (const Copies &copies : logical.parts) {
      bool partial = std::any_of(copies.begin(), copies.end(), isPartial);
      if (!partial && expected.bytes.empty())
        expected = read(name);
      for (const Copy &copy : copies)
        partial ? verifyPartial(copy) : verifyAgainst(expected, copy, copies.front().stage);
    }
  }
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
