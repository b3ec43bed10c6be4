//===- RankGridTest.cpp - rank numbers and groups ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh of three different sizes tells the axes apart.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/RankGrid.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

RankGrid gridOf(int64_t dp, int64_t pp, int64_t tp) {
  return RankGrid(test::PlanBuilder(dp, pp, tp, 1).build().mesh());
}

plan::Group groupOf(std::vector<std::string> axes, std::vector<int64_t> stages = {}) {
  plan::Group group;
  group.mutable_axes()->Assign(axes.begin(), axes.end());
  group.mutable_stages()->Assign(stages.begin(), stages.end());
  return group;
}

} // namespace

TEST(RankGrid, LastAxisIsFastest) {
  RankGrid grid = gridOf(2, 3, 4);
  EXPECT_EQ(grid.ranks(), 24);
  EXPECT_EQ(grid.coordinates(23), (RankCoordinates{1, 2, 3}));
  EXPECT_EQ(grid.coordinates(6), (RankCoordinates{0, 1, 2}));
  for (int64_t rank = 0; rank < 24; ++rank)
    EXPECT_EQ(grid.rankAt(grid.coordinates(rank)), rank);
  EXPECT_EQ(grid.describe(6), "rank 6 (dp 0, pp 1, tp 2)");
  EXPECT_EQ(grid.sameButStage(6, 2), 10);
}

TEST(RankGrid, GroupsListTheirMembersInAxisOrder) {
  RankGrid grid = gridOf(2, 3, 4);
  EXPECT_EQ(grid.groupMembers(groupOf({"tp"}), 6), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(grid.groupMembers(groupOf({"dp"}), 18), (std::vector<int64_t>{6, 18}));
  EXPECT_EQ(grid.groupMembers(groupOf({"tp", "dp"}), 6), (std::vector<int64_t>{4, 16, 5, 17, 6, 18, 7, 19}));
  EXPECT_EQ(grid.groupMembers(groupOf({"pp"}, {0, 2}), 1), (std::vector<int64_t>{1, 9}));
  EXPECT_EQ(groupSize(grid, groupOf({"pp", "tp"}, {0, 2})), 8);
  EXPECT_EQ(grid.indexAlong(6, std::vector<std::string>{"tp", "dp"}), 4);
}

TEST(RankGrid, AxisThatTheMeshLacksHasSizeOne) {
  plan::Mesh mesh;
  RankGrid grid(mesh);
  EXPECT_EQ(grid.ranks(), 1);
  EXPECT_EQ(grid.stages(), 1);
  EXPECT_EQ(grid.coordinate(0, "tp"), 0);
  EXPECT_EQ(grid.sameButStage(0, 0), 0);
}

// Samples are dealt out over both data axes, the replicas outermost.
TEST(RankGrid, DataParallelRanksAreThoseOfAllReplicas) {
  plan::Mesh mesh;
  for (auto [name, size] : {std::pair("dp_replica", 3), std::pair("dp", 2), std::pair("pp", 1), std::pair("tp", 2)}) {
    plan::MeshAxis &axis = *mesh.add_axes();
    axis.set_name(name);
    axis.set_size(size);
  }
  RankGrid grid(mesh);
  EXPECT_EQ(grid.dataParallelRanks(), 6);
  for (int64_t rank = 0; rank < 12; ++rank)
    EXPECT_EQ(grid.dataParallelIndex(rank), rank / 2);
}
