//===- test/unit/data/SampleOrderTest.cpp - the order is a permutation of every epoch --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/SampleOrder.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace tgpt::runtime;

static std::vector<int64_t> epoch(const SampleOrder &order, int64_t samples, int64_t number) {
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < samples; ++i)
    drawn.push_back(order.sampleOf(number * samples + i));
  return drawn;
}

TEST(SampleOrder, EveryEpochIsAPermutation) {
  for (int64_t samples : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 100, 1000, 4097})
    for (int64_t number : {0, 1, 5}) {
      std::vector<int64_t> drawn = epoch(SampleOrder(42, samples), samples, number);
      std::set<int64_t> distinct(drawn.begin(), drawn.end());
      EXPECT_EQ(static_cast<int64_t>(distinct.size()), samples);
      EXPECT_EQ(*distinct.begin(), 0);
      EXPECT_EQ(*distinct.rbegin(), samples - 1);
    }
}

TEST(SampleOrder, DependsOnSeedAndEpoch) {
  std::vector<int64_t> first = epoch(SampleOrder(1, 1000), 1000, 0);
  EXPECT_EQ(first, epoch(SampleOrder(1, 1000), 1000, 0));
  EXPECT_NE(first, epoch(SampleOrder(1, 1000), 1000, 1));
  EXPECT_NE(first, epoch(SampleOrder(2, 1000), 1000, 0));
}

/// Of a uniform random permutation of n, the number of fixed points and of kept neighbours are both close to Poisson
/// with mean 1: more than 12 has a probability below 1e-10.
TEST(SampleOrder, IsShuffled) {
  constexpr int64_t samples = 5000;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<int64_t> drawn = epoch(SampleOrder(seed, samples), samples, 0);
    int fixedPoints = 0, keptNeighbours = 0;
    for (int64_t i = 0; i < samples; ++i) {
      fixedPoints += drawn[i] == i;
      keptNeighbours += i > 0 && drawn[i] == drawn[i - 1] + 1;
    }
    EXPECT_LE(fixedPoints, 12);
    EXPECT_LE(keptNeighbours, 12);
  }
}

TEST(SampleOrder, HandlesHugeCorpora) {
  constexpr int64_t samples = int64_t(1) << 40;
  SampleOrder order(3, samples);
  std::set<int64_t> distinct;
  for (int64_t i = 0; i < 1000; ++i) {
    int64_t sample = order.sampleOf(samples * 7 + i);
    EXPECT_TRUE(sample >= 0 && sample < samples);
    distinct.insert(sample);
  }
  EXPECT_EQ(distinct.size(), 1000u);
}
