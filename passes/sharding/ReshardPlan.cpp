//===- ReshardPlan.cpp - the cheapest way from one layout to another ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shortest path (Dijkstra) whose nodes are layouts and whose edges are collectives.
// An edge costs the bytes that a rank sends in a bandwidth-optimal algorithm: with n
// ranks and S bytes held, all_reduce 2 S (n-1)/n, reduce_scatter and all_to_all
// S (n-1)/n, all_gather S (n-1), slice nothing. So a slice comes before what it makes
// smaller, and one collective over two axes before two over one each.
//
// Only edges that work toward the target are taken: a dim loses axes until those left
// begin as the target's do, and gains only the target's next ones. An axis that the
// target replicates is never sharded on the way, though slicing, reducing and
// gathering can move fewer bytes than reducing: that trade is the algorithm's
// (a hierarchical all_reduce), not the program's.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/ReshardPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

using Axes = LayoutAttr::Axes;
using Kind = ReshardStep::Kind;

namespace {

struct Cost {
  int64_t moved = 0; ///< bytes a rank sends, in units of (global bytes / ranks squared)
  int64_t steps = 0;

  bool operator<(const Cost &other) const { return std::tie(moved, steps) < std::tie(other.moved, other.steps); }
};

struct Node {
  LayoutAttr layout;
  Cost cost;
  size_t previous = 0;
  ReshardStep step = {};
  bool isDone = false;
};

/// Axes that `present` and `wanted` begin with alike.
size_t agreeing(const Axes &present, const Axes &wanted) {
  size_t count = 0;
  while (count < present.size() && count < wanted.size() && present[count] == wanted[count])
    ++count;
  return count;
}

Axes first(const Axes &axes, size_t count) {
  return Axes(axes.begin(), axes.begin() + count);
}
Axes last(const Axes &axes, size_t count) {
  return Axes(axes.end() - count, axes.end());
}

class Planner {
public:
  Planner(LayoutAttr source, LayoutAttr target, MeshOp mesh) : target(target), mesh(mesh) {
    llvm::SmallSetVector<StringRef, 4> axes;
    for (LayoutAttr layout : {source, target}) {
      axes.insert_range(layout.partialAxes());
      for (int64_t dim = 0; dim < layout.getRank(); ++dim)
        axes.insert_range(layout.axesOf(dim));
    }
    ranks = mesh.sizeOf(axes.getArrayRef());
    nodes.push_back({source, {}});
  }

  FailureOr<SmallVector<ReshardStep>> run() {
    while (std::optional<size_t> next = cheapest()) {
      if (nodes[*next].layout == target)
        return pathTo(*next);
      nodes[*next].isDone = true;
      expand(*next);
    }
    return failure();
  }

private:
  std::optional<size_t> cheapest() const {
    std::optional<size_t> best;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!nodes[i].isDone && (!best || nodes[i].cost < nodes[*best].cost))
        best = i;
    return best;
  }

  SmallVector<ReshardStep> pathTo(size_t node) const {
    SmallVector<ReshardStep> steps;
    for (; node != 0; node = nodes[node].previous)
      steps.push_back(nodes[node].step);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  void expand(size_t node) {
    LayoutAttr layout = nodes[node].layout;
    addReductions(node, layout);
    for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
      addRemovals(node, layout, dim);
      addAdditions(node, layout, dim);
    }
  }

  // Axes over which the value is partial and the target is not.
  Axes excessPartial(LayoutAttr layout) const {
    Axes axes;
    for (StringRef axis : layout.partialAxes())
      if (!target.isPartialOver(axis))
        axes.push_back(axis);
    return axes;
  }

  static LayoutAttr reduced(LayoutAttr layout, const Axes &axes) {
    Axes rest;
    for (StringRef axis : layout.partialAxes())
      if (!llvm::is_contained(axes, axis))
        rest.push_back(axis);
    return layout.withPartial(rest, layout.getReduction());
  }

  // all_reduce over every set of excess partial axes.
  void addReductions(size_t node, LayoutAttr layout) {
    Axes excess = excessPartial(layout);
    for (unsigned set = 1; set < 1u << excess.size(); ++set) {
      Axes axes;
      for (size_t i = 0; i < excess.size(); ++i)
        if (set >> i & 1)
          axes.push_back(excess[i]);
      relax(node, {Kind::AllReduce, axes, 0, 0, reduced(layout, axes)});
    }
  }

  // all_gather of a dim's innermost axes that the target does not have there, or
  // all_to_all to the dim where the target has them next.
  void addRemovals(size_t node, LayoutAttr layout, int64_t dim) {
    Axes present = layout.axesOf(dim);
    size_t keep = agreeing(present, target.axesOf(dim));
    for (size_t count = 1; count <= present.size() - keep; ++count) {
      Axes axes = last(present, count);
      LayoutAttr gathered = layout.withDim(dim, first(present, present.size() - count));
      relax(node, {Kind::AllGather, axes, dim, 0, gathered});
      for (int64_t split = 0; split < layout.getRank(); ++split)
        if (Axes grown = extended(layout.axesOf(split), axes); split != dim && isNext(grown, split))
          relax(node, {Kind::AllToAll, axes, split, dim, gathered.withDim(split, grown)});
    }
  }

  // Where the dim has the target's first axes: the next ones by slice where the value
  // is replicated, by reduce_scatter where it is a partial sum.
  void addAdditions(size_t node, LayoutAttr layout, int64_t dim) {
    Axes present = layout.axesOf(dim), wanted = target.axesOf(dim), excess = excessPartial(layout);
    if (!isNext(present, dim))
      return;
    for (size_t end = present.size() + 1; end <= wanted.size(); ++end) {
      Axes axes(wanted.begin() + present.size(), wanted.begin() + end);
      bool isPartial = llvm::all_of(axes, [&](StringRef axis) { return llvm::is_contained(excess, axis); });
      bool isFree =
          llvm::all_of(axes, [&](StringRef axis) { return !layout.isPartialOver(axis) && layout.dimOf(axis) < 0; });
      if (isFree)
        relax(node, {Kind::Slice, axes, dim, 0, layout.withDim(dim, first(wanted, end))});
      if (isPartial && layout.getReduction() == ReductionKind::Sum)
        relax(node, {Kind::ReduceScatter, axes, dim, 0, reduced(layout, axes).withDim(dim, first(wanted, end))});
    }
  }

  static Axes extended(Axes axes, const Axes &more) {
    axes.append(more);
    return axes;
  }

  // The target's axes of `dim` begin with `axes`.
  bool isNext(const Axes &axes, int64_t dim) const { return agreeing(axes, target.axesOf(dim)) == axes.size(); }

  int64_t shards(LayoutAttr layout) const {
    int64_t count = 1;
    for (int64_t dim = 0; dim < layout.getRank(); ++dim)
      count *= mesh.sizeOf(layout.axesOf(dim));
    return count;
  }

  int64_t moved(const ReshardStep &step, LayoutAttr from) const {
    int64_t held = ranks * ranks / shards(from), n = mesh.sizeOf(step.axes);
    switch (step.kind) {
    case Kind::AllReduce: return 2 * held / n * (n - 1);
    case Kind::ReduceScatter:
    case Kind::AllToAll: return held / n * (n - 1);
    case Kind::AllGather: return held * (n - 1);
    case Kind::Slice: return 0;
    }
    return 0;
  }

  bool divides(LayoutAttr layout) const {
    for (int64_t dim = 0; dim < layout.getRank(); ++dim)
      if (layout.getGlobal()[dim] % mesh.sizeOf(layout.axesOf(dim)) != 0)
        return false;
    return true;
  }

  // A way to `step.result` through `node`: kept when it is new or cheaper.
  void relax(size_t node, ReshardStep step) {
    if (!divides(step.result))
      return;
    Cost cost{nodes[node].cost.moved + moved(step, nodes[node].layout), nodes[node].cost.steps + 1};
    auto *known = llvm::find_if(nodes, [&](const Node &other) { return other.layout == step.result; });
    if (known == nodes.end())
      nodes.push_back({step.result, cost, node, step});
    else if (!known->isDone && cost < known->cost)
      *known = {step.result, cost, node, step};
  }

  LayoutAttr target;
  mutable MeshOp mesh; // op accessors are not const
  int64_t ranks = 1;
  SmallVector<Node, 8> nodes;
};

} // namespace

FailureOr<SmallVector<ReshardStep>> tgpt::planReshard(LayoutAttr source, LayoutAttr target, MeshOp mesh) {
  return Planner(source, target, mesh).run();
}
