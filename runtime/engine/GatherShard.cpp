//===- GatherShard.cpp - the addends of a shard, added as a step adds them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/comm/ReduceRange.h"
#include "runtime/engine/VariableTable.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

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
void VariableTable::gatherShard(const Copy &copy, int64_t rank, LogicalTensor &into) const {
  ShardRun run = runOf(copy, rank);
  plan::Group addends;
  *addends.mutable_axes() = copy.variable->partial_axes();
  if (grid.sizeOf(addends.axes()) == 1)
    return into.setRun(run, run.elements.as<std::byte>());
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
  into.setRun(run, sums.total());
}
