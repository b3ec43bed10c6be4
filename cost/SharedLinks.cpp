//===- SharedLinks.cpp - what the rings of an axis get of the links they share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/SharedLinks.h"
#include <cstdint>
#include <limits>
#include <numeric>

namespace tgpt::cost {
namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// Rings that leave a unit, and the fewest ranks that one of them has there.
struct Leaving {
  int64_t rings = 0, fewestRanks = none;

  void add(int64_t count, int64_t ranksOfEach, int64_t groupRanks) {
    if (count == 0 || ranksOfEach == 0 || ranksOfEach == groupRanks)
      return;
    rings += count;
    fewestRanks = std::min(fewestRanks, ranksOfEach);
  }
  /// Counts a unit's piece of `length` ranks of one block: the `stride` groups that lie interleaved in consecutive
  /// ranks. Their shares differ by one rank at most.
  void addPiece(int64_t length, int64_t groupRanks, int64_t stride) {
    int64_t share = length / stride, longer = length % stride;
    add(stride - longer, share, groupRanks);
    add(longer, share + 1, groupRanks);
  }
};

double linksOf(const Leaving &leaving, int64_t unit, double links) {
  double all = links > 0 ? links : static_cast<double>(unit);
  if (leaving.rings == 0)
    return std::numeric_limits<double>::infinity();
  return std::min({static_cast<double>(leaving.fewestRanks), all, all / static_cast<double>(leaving.rings)});
}

/// A group's sizes as whole numbers.
struct Sizes {
  int64_t ranks, stride, block, blocks; ///< `blocks` of `stride` interleaved groups fill the world

  explicit Sizes(const Group &group)
      : ranks(static_cast<int64_t>(group.ranks)), stride(static_cast<int64_t>(group.stride)), block(ranks * stride),
        blocks(group.world > 0 ? static_cast<int64_t>(group.world) / block : none) {}
};

/// The worst-off unit where units are no longer than blocks: inside of a block, or about the end of one.
double worstAboutEnds(const Sizes &sizes, int64_t unit, double links) {
  Leaving inside;
  inside.addPiece(unit, sizes.ranks, sizes.stride);
  double worst = linksOf(inside, unit, links);
  int64_t alignments = unit / std::gcd(unit, sizes.block);
  for (int64_t end = 1; end < alignments && end <= sizes.blocks; ++end) {
    int64_t tail = end * sizes.block % unit;
    Leaving cut;
    cut.addPiece(tail, sizes.ranks, sizes.stride);
    if (end < sizes.blocks)
      cut.addPiece(unit - tail, sizes.ranks, sizes.stride);
    worst = std::min(worst, linksOf(cut, unit, links));
  }
  return worst;
}

/// The same where units are longer: each holds the tail of a block, whole blocks, and the head of one.
double worstOfLongUnits(const Sizes &sizes, int64_t unit, double links) {
  double worst = std::numeric_limits<double>::infinity();
  int64_t alignments = sizes.block / std::gcd(unit, sizes.block);
  bool isEndless = sizes.blocks == none;
  int64_t world = isEndless ? none : sizes.blocks * sizes.block;
  for (int64_t index = 0; index < alignments && (isEndless || index * unit < world); ++index) {
    int64_t tail = (sizes.block - index * unit % sizes.block) % sizes.block;
    int64_t length = isEndless ? unit : std::min(unit, world - index * unit);
    Leaving cut;
    cut.addPiece(tail, sizes.ranks, sizes.stride);
    cut.addPiece((length - tail) % sizes.block, sizes.ranks, sizes.stride);
    worst = std::min(worst, linksOf(cut, unit, links));
  }
  return worst;
}

} // namespace

double unitsTouched(const Group &group, double unitRanks) {
  if (unitRanks <= 0 || (group.world > 0 && group.world <= unitRanks))
    return 1;
  Sizes sizes(group);
  int64_t unit = static_cast<int64_t>(unitRanks);
  if (sizes.stride >= unit)
    return group.ranks;
  if (unit % sizes.block == 0)
    return 1;
  if (sizes.block % unit == 0 && unit % sizes.stride == 0)
    return static_cast<double>(sizes.block / unit);
  // Groups begin at the start of a block, up to stride - 1 further on.
  int64_t alignments = unit / std::gcd(unit, sizes.block), latest = 0;
  for (int64_t index = 0; index < alignments && index < sizes.blocks; ++index)
    latest = std::max(latest, std::min(unit - 1, index * sizes.block % unit + sizes.stride - 1));
  return static_cast<double>((latest + sizes.block - sizes.stride) / unit + 1);
}

double linksOfRing(const Group &group, double unitRanks, double links) {
  if (group.ranks <= 1 || unitRanks <= 0 || (group.world > 0 && group.world <= unitRanks))
    return std::numeric_limits<double>::infinity();
  Sizes sizes(group);
  int64_t unit = static_cast<int64_t>(unitRanks);
  Leaving leaving;
  if (sizes.stride >= unit) { // every rank's successor is on another unit
    leaving.add(unit, 1, sizes.ranks);
    return linksOf(leaving, unit, links);
  }
  if (unit % sizes.stride == 0 && sizes.block % unit == 0) {
    leaving.addPiece(unit, sizes.ranks, sizes.stride);
    return linksOf(leaving, unit, links);
  }
  if (unit % sizes.block == 0)
    return std::numeric_limits<double>::infinity();
  return unit <= sizes.block ? worstAboutEnds(sizes, unit, links) : worstOfLongUnits(sizes, unit, links);
}

} // namespace tgpt::cost
