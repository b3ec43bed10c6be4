//===- TopologyTextTest.cpp - links in one line, there and back ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/TopologyText.h"
#include "cost/cluster/ClusterFile.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

TEST(TopologyTextTest, comesBackAsItWas) {
  for (const auto &entry : std::filesystem::directory_iterator(std::string(TGPT_RECIPES_DIR) + "/clusters")) {
    Topology topology = readClusterFile(entry.path()).topology;
    std::string error, text = topologyText(topology);
    std::optional<Topology> back = parseTopology(text, error);
    ASSERT_TRUE(back) << text << ": " << error;
    EXPECT_EQ(*back, topology) << text;
    EXPECT_EQ(text.find(' '), std::string::npos);
  }
}

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(parseTopology(text, error)) << text;
  return error;
}

TEST(TopologyTextTest, refusesWhatItDoesNotWrite) {
  const std::string level = ",0,1e9,0,0,0,0,0,0";
  std::string error;
  EXPECT_TRUE(parseTopology("4;4" + level + ";0" + level, error)) << error;
  const char *form = "expected ranks of a node and 1 to 6 levels, separated by ';'";
  EXPECT_EQ(errorOf(""), form);
  EXPECT_EQ(errorOf("4"), form);
  EXPECT_EQ(errorOf("-4;0" + level), form);
  EXPECT_EQ(errorOf("4;4" + level + ";3" + level), "a level joins 3 ranks, expected a multiple of the 4 below");
  EXPECT_EQ(errorOf("4;0" + level + ";4" + level), "only the last level joins any number of ranks");
  EXPECT_EQ(errorOf("4;4,0"), "a level has 9 figures, but '4,0' 2");
  EXPECT_EQ(errorOf("4;4,0,0,0,0,0,0,0,0"), "bytes_per_second is '0', expected a number from 1e-12 to 1e24");
  EXPECT_EQ(errorOf("4;4,0,1e9,0,nan,0,0,0,0"), "latency_seconds is 'nan', expected 0 or a number from 1e-12 to 1e24");
  EXPECT_EQ(errorOf("4;4,0,1e9,0,x,0,0,0,0"), "latency_seconds is 'x', expected 0 or a number from 1e-12 to 1e24");
}

} // namespace
