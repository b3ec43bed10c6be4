//===- PackBuffers.cpp - offsets for buffers with lifetimes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Placing n buffers of which k are live with each takes O(n k log k).
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PackBuffers.h"
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

using namespace tgpt;

/// Neighbours looked at while improving a packing that is above the bound.
static constexpr int64_t mostNeighbours = 40000;

namespace {

/// Buffers by the positions they cover: a segment tree in which a buffer is listed at
/// the O(log n) nodes that make up its lifetime.
class LifetimeTree {
public:
  explicit LifetimeTree(int64_t positions) {
    while (leaves < positions)
      leaves *= 2;
    listed.resize(2 * leaves);
    isUsed.resize(2 * leaves);
  }

  void insert(const Lifetime &lifetime, int buffer) { insert(1, 0, leaves, lifetime, buffer); }

  /// Appends the buffers live with `lifetime`; a buffer may come more than once.
  void collect(const Lifetime &lifetime, std::vector<int> &found) const { collect(1, 0, leaves, lifetime, found); }

private:
  void insert(int64_t node, int64_t begin, int64_t end, const Lifetime &lifetime, int buffer) {
    if (lifetime.last < begin || end <= lifetime.first)
      return;
    isUsed[node] = true;
    if (lifetime.first <= begin && end - 1 <= lifetime.last) {
      listed[node].push_back(buffer);
      return;
    }
    int64_t middle = (begin + end) / 2;
    insert(2 * node, begin, middle, lifetime, buffer);
    insert(2 * node + 1, middle, end, lifetime, buffer);
  }

  void collect(int64_t node, int64_t begin, int64_t end, const Lifetime &lifetime, std::vector<int> &found) const {
    if (!isUsed[node] || lifetime.last < begin || end <= lifetime.first)
      return;
    found.insert(found.end(), listed[node].begin(), listed[node].end());
    if (end - begin == 1)
      return;
    int64_t middle = (begin + end) / 2;
    collect(2 * node, begin, middle, lifetime, found);
    collect(2 * node + 1, middle, end, lifetime, found);
  }

  int64_t leaves = 1;
  std::vector<std::vector<int>> listed;
  std::vector<char> isUsed;
};

enum class GapRule { First, Best };

using Range = std::pair<int64_t, int64_t>; // bytes, the end excluded

/// What all placements of some buffers share.
struct Problem {
  const std::vector<Lifetime> &buffers;
  int64_t alignment;
  const std::vector<int64_t> &splits;
  int64_t endlessFrom; ///< the last split
  int64_t positions = 1;
  int64_t leastEnd = 0;                  ///< no packing ends before
  int64_t bound = 0;                     ///< an end that needs no improvement
  std::vector<std::vector<Range>> taken; ///< of each buffer: what lies in its way before any is placed
};

/// Places buffers in a given order.
class Placement {
public:
  Placement(const Problem &problem, GapRule rule) : problem(problem), rule(rule), tree(problem.positions) {
    packing.offsets.resize(problem.buffers.size());
    packing.endBytes = problem.endlessFrom;
  }

  void place(int buffer) {
    const std::vector<Lifetime> &buffers = problem.buffers;
    neighbours.clear();
    tree.collect(buffers[buffer], neighbours);
    ranges = problem.taken[buffer];
    for (int other : neighbours)
      ranges.emplace_back(packing.offsets[other], packing.offsets[other] + buffers[other].bytes);
    std::sort(ranges.begin(), ranges.end());
    seen += static_cast<int64_t>(ranges.size()) + 1;
    packing.offsets[buffer] = gapFor(buffers[buffer].bytes);
    packing.endBytes = std::max(packing.endBytes, packing.offsets[buffer] + buffers[buffer].bytes);
    tree.insert(buffers[buffer], buffer);
  }

  Packing take() { return std::move(packing); }
  int64_t neighboursSeen() const { return seen; }

private:
  /// The first gap between `ranges` that fits, or the one that leaves least over.
  int64_t gapFor(int64_t bytes) const {
    int64_t end = 0, best = -1, leastLeft = 0;
    auto offer = [&](int64_t limit) {
      int64_t left = limit - end - bytes;
      if (left < 0 || (best >= 0 && (rule == GapRule::First || left >= leastLeft)))
        return;
      best = end;
      leastLeft = left;
    };
    auto passTo = [&](int64_t from) { // a gap across a split is two
      for (int64_t split : problem.splits)
        if (end < split && split < from) {
          offer(split);
          end = split;
        }
      offer(from);
    };
    for (auto [from, to] : ranges) {
      passTo(from);
      if (best >= 0 && rule == GapRule::First)
        return best;
      end = std::max(end, roundUp(to, problem.alignment));
    }
    if (end < problem.endlessFrom)
      passTo(problem.endlessFrom);
    return best < 0 ? std::max(end, problem.endlessFrom) : best;
  }

  const Problem &problem;
  GapRule rule;
  LifetimeTree tree;
  Packing packing;
  std::vector<int> neighbours;
  std::vector<Range> ranges;
  int64_t seen = 0;
};

/// The orders tried: by size and duration, by size times duration, by duration, by start, by size and start or end.
std::vector<std::vector<int>> ordersOf(const std::vector<Lifetime> &buffers) {
  auto duration = [](const Lifetime &lifetime) { return lifetime.last - lifetime.first + 1; };
  auto sorted = [&](auto key) {
    std::vector<int> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(buffers[a]) < key(buffers[b]); });
    return order;
  };
  return {
      sorted([&](const Lifetime &l) { return std::tuple(-l.bytes, -duration(l), l.first); }),
      sorted([&](const Lifetime &l) {
        return std::tuple(-static_cast<double>(l.bytes) * static_cast<double>(duration(l)), l.first);
      }),
      sorted([&](const Lifetime &l) { return std::tuple(-duration(l), -l.bytes, l.first); }),
      sorted([&](const Lifetime &l) { return std::tuple(l.first, -l.bytes, l.last); }),
      sorted([&](const Lifetime &l) { return std::tuple(-l.bytes, l.first, -l.last); }),
      sorted([&](const Lifetime &l) { return std::tuple(-l.bytes, -l.last, l.first); }),
  };
}

/// One after the other, behind the last split: what remains when all are live at once.
Packing stack(const Problem &problem) {
  Packing packing;
  packing.endBytes = problem.endlessFrom;
  for (const Lifetime &buffer : problem.buffers) {
    packing.offsets.push_back(roundUp(packing.endBytes, problem.alignment));
    packing.endBytes = packing.offsets.back() + buffer.bytes;
  }
  return packing;
}

/// The bytes that placed buffers take while another one is live, side by side ones joined.
std::vector<Range> takenDuring(const Lifetime &lifetime, const Space &space, int64_t alignment) {
  std::vector<Range> taken;
  for (const PlacedBuffer &placed : space.taken) {
    if (placed.lifetime.last < lifetime.first || lifetime.last < placed.lifetime.first)
      continue;
    int64_t end = placed.offset + placed.lifetime.bytes;
    if (!taken.empty() && placed.offset <= roundUp(taken.back().second, alignment))
      taken.back().second = std::max(taken.back().second, end);
    else
      taken.emplace_back(placed.offset, end);
  }
  return taken;
}

Problem problemOf(const std::vector<Lifetime> &buffers, int64_t alignment, const Space &space) {
  Problem problem{buffers, alignment, space.splits, space.endlessFrom(), 1, 0, 0, {}};
  std::vector<Lifetime> all = buffers;
  for (const PlacedBuffer &placed : space.taken)
    all.push_back(placed.lifetime);
  problem.leastEnd = std::max(peakLiveBytes(all, alignment), space.endlessFrom());
  problem.bound = std::max(problem.leastEnd, space.goalBytes);
  for (const Lifetime &buffer : buffers) {
    problem.positions = std::max(problem.positions, buffer.last + 1);
    problem.taken.push_back(takenDuring(buffer, space, alignment));
  }
  return problem;
}

} // namespace

int64_t tgpt::peakLiveBytes(const std::vector<Lifetime> &buffers, int64_t alignment) {
  std::vector<std::pair<int64_t, int64_t>> changes; // position, bytes; ends sort before starts
  for (const Lifetime &buffer : buffers) {
    changes.emplace_back(buffer.first, roundUp(buffer.bytes, alignment));
    changes.emplace_back(buffer.last + 1, -roundUp(buffer.bytes, alignment));
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, peak = 0;
  for (auto [position, bytes] : changes)
    peak = std::max(peak, live += bytes);
  return peak;
}

/// Places in this order by both gap rules; keeps the result in `best` if it is smaller.
static bool tryOrder(const Problem &problem, const std::vector<int> &order, Packing &best) {
  bool isBetter = false;
  for (GapRule rule : {GapRule::First, GapRule::Best}) {
    Placement placement(problem, rule);
    for (int buffer : order)
      placement.place(buffer);
    Packing packing = placement.take();
    if (packing.endBytes >= best.endBytes)
      continue;
    best = std::move(packing);
    isBetter = true;
  }
  return isBetter;
}

/// Repairs an order: buffers that stick out above the bound came too late, so they are
/// placed first, again and again.
static void promote(const Problem &problem, std::vector<int> order, Packing &best) {
  for (int64_t seen = 0; seen < mostNeighbours && best.endBytes > problem.bound;) {
    Placement placement(problem, GapRule::First);
    for (int buffer : order)
      placement.place(buffer);
    seen += placement.neighboursSeen();
    Packing packing = placement.take();
    std::stable_partition(order.begin(), order.end(), [&](int buffer) {
      return packing.offsets[buffer] + problem.buffers[buffer].bytes > problem.bound;
    });
    if (packing.endBytes < best.endBytes)
      best = std::move(packing);
  }
}

Packing tgpt::packBuffers(const std::vector<Lifetime> &buffers, int64_t alignment, const Space &space) {
  Problem problem = problemOf(buffers, alignment, space);
  Packing best = stack(problem);
  std::vector<int> bestOrder;
  for (const std::vector<int> &order : ordersOf(buffers))
    if (roundUp(best.endBytes, alignment) > problem.bound && tryOrder(problem, order, best))
      bestOrder = order;
  if (!bestOrder.empty())
    promote(problem, bestOrder, best);
  best.peakLiveBytes = peakLiveBytes(buffers);
  best.isTight = roundUp(best.endBytes, alignment) <= problem.leastEnd;
  return best;
}
