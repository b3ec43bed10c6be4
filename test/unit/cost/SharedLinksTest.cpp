//===- SharedLinksTest.cpp - links that rings share, against a count of every flow ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed form against an explicit graph: the rings of all groups of an axis are laid
// over the ranks of a world, each ring's way out of a unit is looked up, and flows are
// counted link by link. Small worlds, and such in which units and groups meet in every way.
//
//===----------------------------------------------------------------------===//

#include "cost/SharedLinks.h"
#include "cost/CollectiveTime.h"
#include "cost/MeshGroup.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace tgpt::cost;

namespace {

/// The rings of all groups of an axis.
struct World {
  int ranks, stride, unit, size;
  std::vector<int> groupOf, next;

  World(int ranks, int stride, int unit, int size) : ranks(ranks), stride(stride), unit(unit), size(size) {
    int block = ranks * stride;
    groupOf.resize(size);
    next.resize(size);
    for (int rank = 0; rank < size; ++rank) {
      int index = rank % block / stride;
      groupOf[rank] = rank / block * stride + rank % stride;
      next[rank] = index + 1 < ranks ? rank + stride : rank - index * stride;
    }
  }

  int units() const { return (size + unit - 1) / unit; }

  double mostUnits() const {
    std::map<int, std::set<int>> units;
    for (int rank = 0; rank < size; ++rank)
      units[groupOf[rank]].insert(rank / unit);
    size_t most = 0;
    for (const auto &[group, touched] : units)
      most = std::max(most, touched.size());
    return static_cast<double>(most);
  }

  /// Every unit's links are shared evenly by the rings that leave it; none uses more links than it has ranks there.
  double worstShare(int links) const {
    std::vector<std::map<int, int>> ranksOnUnit(units()), flows(units());
    for (int rank = 0; rank < size; ++rank) {
      ++ranksOnUnit[rank / unit][groupOf[rank]];
      if (next[rank] / unit != rank / unit)
        ++flows[rank / unit][groupOf[rank]];
    }
    double worst = std::numeric_limits<double>::infinity();
    for (int u = 0; u < units(); ++u) {
      int all = 0;
      for (const auto &[group, count] : flows[u])
        all += count;
      for (const auto &[group, count] : flows[u]) {
        EXPECT_EQ(count, 1) << "a ring leaves a unit once";
        double own = ranksOnUnit[u].at(group);
        worst = std::min({worst, own, static_cast<double>(links), static_cast<double>(links) / all});
      }
    }
    return worst;
  }
};

/// Compares all answers about one axis; `world` as the closed form is told of it.
int check(const World &counted, double world) {
  Group group{static_cast<double>(counted.ranks), static_cast<double>(counted.stride), world};
  std::string name = std::to_string(counted.ranks) + " ranks, " + std::to_string(counted.stride) + " apart, units of " +
                     std::to_string(counted.unit) + ", world of " + std::to_string(counted.size);
  EXPECT_EQ(unitsTouched(group, counted.unit), counted.mostUnits()) << name;
  for (int links : {1, 2, 3, 8})
    EXPECT_EQ(linksOfRing(group, counted.unit, links), counted.worstShare(links)) << name << ", links " << links;
  EXPECT_EQ(linksOfRing(group, counted.unit, 0), counted.worstShare(counted.unit)) << name;
  return 6;
}

TEST(SharedLinksTest, sharesAreThoseOfCountedFlows) {
  int checked = 0;
  for (int unit : {1, 2, 3, 4, 6, 8, 12, 16, 20})
    for (int ranks : {2, 3, 4, 5, 6, 7, 8, 12, 16, 24})
      for (int stride : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24}) {
        int block = ranks * stride;
        for (int blocks : {1, 2, 3, 5})
          checked += check(World(ranks, stride, unit, blocks * block), blocks * block);
        checked += check(World(ranks, stride, unit, std::lcm(block, unit)), 0);
      }
  EXPECT_EQ(checked, 9 * 10 * 10 * 5 * 6);
}

TEST(SharedLinksTest, whatLeavesNoUnitIsNotBound) {
  EXPECT_TRUE(std::isinf(linksOfRing({4, 2}, 8, 0)));
  EXPECT_TRUE(std::isinf(linksOfRing({1, 1}, 8, 0)));
  EXPECT_EQ(unitsTouched({4, 2}, 8), 1);
  EXPECT_EQ(unitsTouched({4, 2}, 0), 1); // a unit of all ranks
}

/// Bytes a second of the worst-off ring of an axis, from the flows of all rings over every link: each edge takes, at
/// each level, the links of the units that it leaves, where neighbours meet there or the level carries what goes on.
double slowestByFlows(const Topology &topology, const World &world) {
  double slowest = std::numeric_limits<double>::infinity();
  auto unitOf = [](int rank, double ranks) { return ranks > 0 ? rank / static_cast<int>(ranks) : 0; };
  for (int index = 0; index < topology.levelCount; ++index) {
    const Level &level = topology.levels[index];
    double below = topology.ranksBelow(index);
    std::map<int, std::map<int, int>> flows, held; // of each unit below: by group
    bool isMet = false;
    for (int rank = 0; rank < world.size; ++rank) {
      ++held[unitOf(rank, below)][world.groupOf[rank]];
      if (unitOf(rank, below) == unitOf(world.next[rank], below))
        continue;
      isMet |= unitOf(rank, level.ranks) == unitOf(world.next[rank], level.ranks);
      ++flows[unitOf(rank, below)][world.groupOf[rank]];
    }
    if (!isMet && !level.carriesOuter)
      continue;
    for (const auto &[unit, byGroup] : flows) {
      double links = level.links > 0 ? level.links : below, all = 0;
      for (const auto &[group, count] : byGroup)
        all += count;
      for (const auto &[group, count] : byGroup)
        slowest = std::min(slowest, level.bytesPerSecond *
                                        std::min({links, links / all, static_cast<double>(held[unit][group])}));
    }
  }
  return slowest;
}

// Bridged pairs on PCIe, two cards a node of eight, leaf switches of four nodes with half the links up to the spine.
Topology manyLevels() {
  Topology topology;
  topology.ranksPerNode = 8;
  topology.levelCount = 4;
  topology.levels[0] = {.bytesPerSecond = 1e11, .ranks = 2};
  topology.levels[1] = {.bytesPerSecond = 2.5e10, .ranks = 8, .carriesOuter = true};
  topology.levels[2] = {.bytesPerSecond = 2e10, .ranks = 32, .links = 2, .carriesOuter = true};
  topology.levels[3] = {.bytesPerSecond = 2e10, .links = 4, .carriesOuter = true};
  return topology;
}

TEST(SharedLinksTest, theSlowestOfManyLevels) {
  Topology topology = manyLevels();
  int axes = 0;
  for (int ranks : {2, 3, 4, 6, 8, 12, 16, 32, 48})
    for (int stride : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64})
      for (int blocks : {1, 2, 4}) {
        World world(ranks, stride, 1, blocks * ranks * stride);
        Group group{static_cast<double>(ranks), static_cast<double>(stride), static_cast<double>(world.size)};
        EXPECT_EQ(ringLinks(topology, group).bytesPerSecond, slowestByFlows(topology, world))
            << ranks << " ranks, " << stride << " apart, " << blocks << " blocks";
        ++axes;
      }
  EXPECT_EQ(axes, 9 * 11 * 3);
  // All eight ranks of a node share two cards; 16 nodes on four leaves, 8 rings each: four links up for 32 ranks.
  EXPECT_EQ(ringLinks(topology, {2, 8}).bytesPerSecond, 2e10 * 2 / 8);
  EXPECT_EQ(ringLinks(topology, {16, 8}).bytesPerSecond, 2e10 * 2 / 8);
  EXPECT_EQ(ringLinks(topology, {4, 32}).bytesPerSecond, 2e10 * 4 / 32);
  EXPECT_EQ(ringLinks(topology, {2, 1}).bytesPerSecond, 1e11);
  EXPECT_EQ(ringLinks(topology, {8, 1}).bytesPerSecond, 2 * 2.5e10);
}

TEST(SharedLinksTest, axesOfAMeshAreGroups) {
  auto over = [](bool dp, bool pp, bool tp) {
    std::vector<MeshAxis> axes = {{2, dp}, {4, pp}, {8, tp}};
    Group group = groupOver(axes);
    EXPECT_EQ(group.world, 64);
    return std::pair(group.ranks, group.stride);
  };
  EXPECT_EQ(over(false, false, true), std::pair(8., 1.));
  EXPECT_EQ(over(false, true, false), std::pair(4., 8.));
  EXPECT_EQ(over(true, false, false), std::pair(2., 32.));
  EXPECT_EQ(over(true, true, false), std::pair(8., 8.));
  EXPECT_EQ(over(true, true, true), std::pair(64., 1.));
  EXPECT_EQ(over(true, false, true), std::pair(16., 2.)); // ranks 0 to 7 and 32 to 39: 39 over 15 steps
  EXPECT_EQ(over(false, false, false), std::pair(1., 1.));
}

} // namespace
