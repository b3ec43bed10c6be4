//===- PackInTurn.cpp - offsets for buffers in the order of time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PackInTurn.h"
#include <algorithm>
#include <numeric>
#include <tuple>

using namespace tgpt;

namespace {

/// Where a buffer goes: in the lowest gap, in the one that leaves least over, or the shorter-lived, or smaller, ones in
/// the highest gap below the goal, so that they do not come between the others.
enum class TurnRule { Lowest, Tightest, ShortOnTop, SmallOnTop };

class TurnPlacement {
public:
  TurnPlacement(const std::vector<Lifetime> &buffers, int64_t alignment, int64_t goalBytes, TurnRule rule)
      : buffers(buffers), alignment(alignment), topBytes(goalBytes / alignment * alignment), rule(rule) {
    packing.offsets.resize(buffers.size());
  }

  Packing place(const std::vector<size_t> &order) {
    int64_t typical = middleOf(order);
    int64_t now = -1;
    for (size_t i : order) {
      if (buffers[i].first > now)
        std::erase_if(live, [&](const Live &other) { return other.last < buffers[i].first; });
      now = buffers[i].first;
      int64_t offset = isOnTop(buffers[i], typical) ? highest(buffers[i].bytes) : -1;
      if (offset < 0)
        offset = lowest(buffers[i].bytes);
      put(i, offset);
    }
    return std::move(packing);
  }

private:
  struct Live {
    int64_t begin, end, last; // bytes, the end excluded and aligned; position
  };

  int64_t keyOf(const Lifetime &buffer) const {
    return rule == TurnRule::ShortOnTop ? buffer.last - buffer.first : buffer.bytes;
  }

  /// The middle between the least and the greatest key.
  int64_t middleOf(const std::vector<size_t> &order) const {
    auto [least, most] = std::minmax_element(order.begin(), order.end(),
                                             [&](size_t a, size_t b) { return keyOf(buffers[a]) < keyOf(buffers[b]); });
    return order.empty() ? 0 : (keyOf(buffers[*least]) + keyOf(buffers[*most])) / 2;
  }

  bool isOnTop(const Lifetime &buffer, int64_t typical) const {
    return (rule == TurnRule::ShortOnTop || rule == TurnRule::SmallOnTop) && keyOf(buffer) < typical;
  }

  int64_t lowest(int64_t bytes) const {
    int64_t end = 0, best = -1, leastLeft = 0;
    for (const Live &other : live) {
      int64_t left = other.begin - end - bytes;
      if (left >= 0 && rule != TurnRule::Tightest)
        return end;
      if (left >= 0 && (best < 0 || left < leastLeft)) {
        best = end;
        leastLeft = left;
      }
      end = other.end;
    }
    return best < 0 ? end : best;
  }

  /// -1: no gap below the goal.
  int64_t highest(int64_t bytes) const {
    int64_t rounded = roundUp(bytes, alignment), top = topBytes;
    for (auto other = live.rbegin(); other != live.rend(); ++other) {
      if (top - other->end >= rounded)
        return top - rounded;
      top = std::min(top, other->begin);
    }
    return top >= rounded ? top - rounded : -1;
  }

  void put(size_t buffer, int64_t offset) {
    packing.offsets[buffer] = offset;
    packing.endBytes = std::max(packing.endBytes, offset + buffers[buffer].bytes);
    Live added = {offset, roundUp(offset + buffers[buffer].bytes, alignment), buffers[buffer].last};
    live.insert(std::partition_point(live.begin(), live.end(), [&](const Live &other) { return other.begin < offset; }),
                added);
  }

  const std::vector<Lifetime> &buffers;
  int64_t alignment, topBytes;
  TurnRule rule;
  Packing packing;
  std::vector<Live> live; // by rising offset
};

} // namespace

Packing tgpt::packInTurn(const std::vector<Lifetime> &buffers, int64_t alignment, int64_t goalBytes) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto key = [](const Lifetime &l) { return std::tuple(l.first, -l.bytes, -l.last); };
    return key(buffers[a]) < key(buffers[b]);
  });
  int64_t least = peakLiveBytes(buffers, alignment);
  int64_t goal = std::max(goalBytes, least);
  Packing best;
  bool isFirst = true;
  for (TurnRule rule : {TurnRule::Lowest, TurnRule::Tightest, TurnRule::ShortOnTop, TurnRule::SmallOnTop}) {
    if (!isFirst && best.endBytes <= goal)
      break;
    Packing packing = TurnPlacement(buffers, alignment, goal, rule).place(order);
    if (isFirst || packing.endBytes < best.endBytes)
      best = std::move(packing);
    isFirst = false;
  }
  best.peakLiveBytes = peakLiveBytes(buffers);
  best.isTight = roundUp(best.endBytes, alignment) <= least;
  return best;
}
