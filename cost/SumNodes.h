//===- SumNodes.h - what part of a tree of additions lies in a range --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree of runtime/kernels/api/SumTree.h has a node over any 2^k addends that begin
// at a multiple of 2^k. Neighbours [first, first + count) are a list of such nodes, as
// few and as large as can be, of which each may be added up by itself:
//
//   [0, 3) = [0, 2) [2, 3)        [3, 6) = [3, 4) [4, 6)
//
// So ranks whose equal ranges are no nodes keep a sum for each node of theirs; all ranks'
// lists, one after the other, are added in the tree over all addends: two neighbours as
// soon as they are the halves of a node, and at the end what is left from the right.
// Compiler and runtime both ask here how many nodes there are, and which.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_SUMNODES_H
#define TGPT_COST_SUMNODES_H

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tgpt {

/// Neighbouring addends [first, first + count).
struct SumNode {
  int64_t first = 0, count = 0;

  int64_t end() const { return first + count; }
  /// The two are the halves of a node, this one its left half.
  bool joins(const SumNode &next) const {
    return count == next.count && first % (2 * count) == 0 && end() == next.first;
  }
};

/// The largest node that begins at `first` and ends at `end` at the latest.
inline SumNode firstSumNode(int64_t first, int64_t end) {
  int64_t most = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(end - first)));
  return {first, first == 0 ? most : std::min(most, first & -first)};
}

/// Nodes that [first, first + count) is a list of.
inline int64_t countSumNodes(int64_t first, int64_t count) {
  int64_t nodes = 0;
  for (int64_t at = first; at < first + count; ++nodes)
    at = firstSumNode(at, first + count).end();
  return nodes;
}

/// Number `index` of them; the last where there are fewer.
inline SumNode sumNodeAt(int64_t first, int64_t count, int64_t index) {
  SumNode node = firstSumNode(first, first + count);
  for (int64_t i = 0; i < index && node.end() < first + count; ++i)
    node = firstSumNode(node.end(), first + count);
  return node;
}

/// Ranges of `addends` that differ in their nodes, of `ranks` ranges one after the other.
inline int64_t differingSumRanges(int64_t addends, int64_t ranks) {
  return std::min(ranks, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(addends))));
}

/// The most nodes of any of `ranks` ranges of `addends`, one after the other.
inline int64_t mostSumNodes(int64_t addends, int64_t ranks) {
  int64_t most = 1;
  for (int64_t rank = 0; rank < differingSumRanges(addends, ranks); ++rank)
    most = std::max(most, countSumNodes(rank * addends, addends));
  return most;
}

/// The most nodes at hand while any of them adds up its range from the left.
inline int64_t mostSumNodesAtHand(int64_t addends, int64_t ranks) {
  constexpr int64_t fewRanges = 1 << 14;
  int64_t differing = differingSumRanges(addends, ranks), most = 1;
  if (differing > fewRanges / addends) // more than there can be: every width twice
    return 2 * std::bit_width(static_cast<uint64_t>(addends));
  for (int64_t rank = 0; rank < differing; ++rank)
    for (int64_t count = 1; count <= addends; ++count)
      most = std::max(most, countSumNodes(rank * addends, count));
  return most;
}

/// `addends` without its factors of 2, which change no list of nodes.
inline int64_t withoutPowersOfTwo(int64_t addends) {
  return addends >> std::countr_zero(static_cast<uint64_t>(addends));
}

} // namespace tgpt

#endif // TGPT_COST_SUMNODES_H
