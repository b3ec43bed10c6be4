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

} // namespace
