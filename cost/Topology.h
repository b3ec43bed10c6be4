//===- Topology.h - links between ranks, by level ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are numbered so that those of a unit (a node, the nodes of a leaf switch) are
// consecutive. A level joins the units below it into larger ones: level 0 the ranks of a
// node, say, level 1 nodes over their network cards, level 2 leaf switches over a spine.
// Each unit hangs from its level by `links` links, which all of its ranks share.
//
//      level 1      ======== network ========        links: cards of a node
//                    |  |  |  |     |  |  |  |
//      level 0      == NVLink ==   == NVLink ==      links: one a rank
//                    0  1  2  3     4  5  6  7
//
// A group of a mesh axis is `ranks` ranks at distance `stride`; all groups of an axis run
// at once. What their rings get of the links is counted in cost/SharedLinks.h.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_TOPOLOGY_H
#define TGPT_COST_TOPOLOGY_H

#include <algorithm>
#include <array>

namespace tgpt::cost {

/// One level of links. Rates are one way, of one link, as a ring of large messages reaches them.
struct Level {
  double bytesPerSecond = 0;
  double reducingBytesPerSecond = 0; ///< of an all_reduce, where the switch adds up (0: as a ring)
  double latencySeconds = 0;         ///< of a collective that crosses the level
  double hopSeconds = 0;             ///< of each hop over the level, beside that
  double fillSeconds = 0;            ///< of one chunk: what filling the pipeline of chunks costs
  double sendFillSeconds = 0;        ///< the same of a send, which has fewer channels at work
  double ranks = 0;                  ///< consecutive ranks that one unit joins; 0: all
  double links = 0;                  ///< by which a unit below hangs from it; 0: one for each of its ranks
  bool carriesOuter = false;         ///< what goes on to an outer level crosses these links too

  bool operator==(const Level &) const = default;
};

/// Levels from the inside out: the ranks of each are a multiple of those before.
struct Topology {
  static constexpr int mostLevels = 6;

  double ranksPerNode = 8;
  int levelCount = 0;
  std::array<Level, mostLevels> levels;

  /// Nodes that a network joins. `network.bytesPerSecond` is of one card, of which a node has `network.links`.
  static Topology ofNodes(double ranksPerNode, Level node, Level network) {
    node.ranks = ranksPerNode;
    network.ranks = 0;
    return {ranksPerNode, 2, {node, network}};
  }
  /// Ranks of a unit that hangs from this level.
  double ranksBelow(int level) const { return level == 0 ? 1 : levels[level - 1].ranks; }
  /// The most ranks that there can be; 0: any number.
  double mostRanks() const { return levelCount == 0 ? 0 : levels[levelCount - 1].ranks; }

  bool operator==(const Topology &) const = default;
};

/// The ranks of one group of a mesh axis.
struct Group {
  double ranks = 1, stride = 1;
  double world = 0; ///< ranks of all groups of the axis; 0: of a cluster of any size

  /// How many of them a unit of so many ranks holds, where units and groups are aligned.
  double ranksOnUnit(double unitRanks) const { return std::clamp(unitRanks / stride, 1.0, ranks); }
};

} // namespace tgpt::cost

#endif // TGPT_COST_TOPOLOGY_H
