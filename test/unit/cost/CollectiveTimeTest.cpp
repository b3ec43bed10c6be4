//===- CollectiveTimeTest.cpp - collectives against their closed forms ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/CollectiveTime.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

/// 100 GB/s in a node of eight, 10 GB/s a rank between nodes, no latencies.
Topology bandwidthOnly() {
  return Topology::ofNodes(8, {.bytesPerSecond = 1e11}, {.bytesPerSecond = 1e10});
}

TEST(CollectiveTimeTest, aRingMovesItsShareOverEveryLink) {
  Topology topology = bandwidthOnly();
  // n - 1 of n pieces, twice for an all_reduce.
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {4, 1}, 4e9), 0.03);
  EXPECT_DOUBLE_EQ(reduceScatterSeconds(topology, {4, 1}, 4e9), 0.03);
  EXPECT_DOUBLE_EQ(allReduceSeconds(topology, {4, 1}, 4e9), 0.06);
  EXPECT_DOUBLE_EQ(allToAllSeconds(topology, {4, 1}, 4e9), 0.03);
}

TEST(CollectiveTimeTest, aGroupOfOneMovesNothing) {
  Topology topology = bandwidthOnly();
  topology.levels[0].latencySeconds = 1;
  EXPECT_EQ(allReduceSeconds(topology, {1, 1}, 1e9), 0);
  EXPECT_EQ(allGatherSeconds(topology, {1, 8}, 1e9), 0);
  EXPECT_EQ(allToAllSeconds(topology, {1, 1}, 1e9), 0);
}

TEST(CollectiveTimeTest, groupsOfANodeShareItsCards) {
  Topology topology = bandwidthOnly();
  // 16 ranks one apart: a ring over all cards of both nodes, 80 GB/s. Eight apart: one card each, 10 GB/s.
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {16, 1}, 16e9), 15e9 / 8e10);
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {16, 8}, 16e9), 15e9 / 1e10);
  // Two on each node: two of its eight cards.
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {16, 4}, 16e9), 15e9 / 2e10);
}

TEST(CollectiveTimeTest, theSlowestLinkRules) {
  Topology topology = bandwidthOnly();
  topology.levels[1].bytesPerSecond = 5e10; // 400 GB/s a node: NVLink is the slower
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {16, 1}, 16e9), 15e9 / 1e11);
}

TEST(CollectiveTimeTest, aSwitchReducesOnlyForAWholeNode) {
  Topology topology = bandwidthOnly();
  topology.levels[0].reducingBytesPerSecond = 2e11;
  EXPECT_DOUBLE_EQ(allReduceSeconds(topology, {8, 1}, 8e9), 14e9 / 2e11);
  EXPECT_DOUBLE_EQ(allReduceSeconds(topology, {4, 1}, 8e9), 12e9 / 1e11);
  EXPECT_DOUBLE_EQ(allGatherSeconds(topology, {8, 1}, 8e9), 7e9 / 1e11);
}

TEST(CollectiveTimeTest, chunksCostTheRootOfTheirFill) {
  Topology topology = bandwidthOnly();
  topology.levels[0].latencySeconds = 1e-5;
  topology.levels[0].fillSeconds = 1e-6;
  // 10 us + 10 ms + 2 sqrt(1 us x 10 ms)
  EXPECT_NEAR(allGatherSeconds(topology, {2, 1}, 2e9), 1e-5 + 1e-2 + 2e-4, 1e-12);
}

TEST(CollectiveTimeTest, hopsAreCountedBetweenNodes) {
  Topology topology = bandwidthOnly();
  topology.levels[1].hopSeconds = 1e-3;
  double bandwidth = 32e9 * 31 / 32 / 8e10;
  // Four nodes: a ring of three hops; an all_reduce's tree goes two up and two down.
  EXPECT_NEAR(allGatherSeconds(topology, {32, 1}, 32e9), bandwidth + 3e-3, 1e-9);
  EXPECT_NEAR(allReduceSeconds(topology, {32, 1}, 32e9), 2 * bandwidth + 4e-3, 1e-9);
}

TEST(CollectiveTimeTest, allToAllSendsEachPieceOnce) {
  Topology topology = bandwidthOnly();
  // 16 ranks, 16 GB each: eight pieces of 1 GB leave the node over the rank's own card.
  EXPECT_DOUBLE_EQ(allToAllSeconds(topology, {16, 1}, 16e9), 8e9 / 1e10);
}

TEST(CollectiveTimeTest, aSendCrossesTheLevelOfItsDistance) {
  Topology topology = bandwidthOnly();
  EXPECT_DOUBLE_EQ(sendSeconds(topology, 4, 1e9), 1e-2);
  EXPECT_DOUBLE_EQ(sendSeconds(topology, 8, 1e9), 1e-1);
}

} // namespace
