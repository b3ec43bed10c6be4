//===- MeasuredSectionTest.cpp - measured rates in cluster files ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/ClusterFile.h"
#include "cost/cluster/WriteCluster.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

const std::filesystem::path clusterRecipes = std::filesystem::path(TGPT_RECIPES_DIR) / "clusters";

Cluster measuredCluster() {
  Cluster cluster = readClusterFile(clusterRecipes / "dgx-h100.yaml");
  cluster.measured.emplace();
  cluster.measured->stepSeconds = 1.25e-5;
  cluster.measured->kernels["linear"] = {KernelRate{1e-7, 2e-11, 0, 0}, std::nullopt, KernelRate{0, 4.5e-12, 3e-11, 0}};
  cluster.measured->kernels["fill"][1] = KernelRate{0, 0, 7e-12, 1e-10};
  cluster.measured->exchanges["all_reduce"] = {{2, 1e-6, 4e-11}, {4, 2e-5, 1e-10}};
  return cluster;
}

TEST(WriteCluster, ShippedFilesAreReadAsTheyWereWritten) {
  for (const auto &entry : std::filesystem::directory_iterator(clusterRecipes)) {
    Cluster cluster = readClusterFile(entry.path());
    std::string text = clusterText(cluster);
    Cluster again = parseCluster(text, "again.yaml");
    EXPECT_EQ(again.device, cluster.device);
    EXPECT_EQ(again.topology, cluster.topology);
    EXPECT_EQ(again.levelNames, cluster.levelNames);
    EXPECT_EQ(again.communicator, cluster.communicator);
    EXPECT_EQ(clusterText(again), text);
  }
}

TEST(WriteCluster, MeasuredRatesAreReadAsTheyWereWritten) {
  Cluster cluster = measuredCluster();
  EXPECT_EQ(parseCluster(clusterText(cluster), "c.yaml").measured, cluster.measured);
  cluster.measured->kernels.clear();
  cluster.measured->exchanges.clear();
  EXPECT_EQ(parseCluster(clusterText(cluster), "c.yaml").measured, cluster.measured);
}

TEST(WriteCluster, EachFigureStandsBelowItsComment) {
  std::string text = clusterText(measuredCluster(), {"of a test"}, [](const std::string &path) {
    return path == "measured.kernels.linear.bf16" || path == "device.memory_bytes" ? "see " + path : "";
  });
  EXPECT_EQ(text.rfind("# of a test\nname: dgx-h100\n", 0), 0u);
  EXPECT_NE(text.find("  # see device.memory_bytes\n  memory_bytes: "), std::string::npos);
  EXPECT_NE(text.find("      # see measured.kernels.linear.bf16\n      bf16: {call_seconds: 0, "), std::string::npos);
}

/// The error about the measured cluster with `from` replaced by `to`.
std::string errorOfRates(const std::string &from, const std::string &to) {
  std::string text = clusterText(measuredCluster());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  try {
    parseCluster(text.replace(at, from.size(), to), "c.yaml");
  } catch (const ClusterError &error) {
    std::string message = error.what();
    EXPECT_EQ(message.rfind("c.yaml:", 0), 0u) << message;
    return message.substr(message.find(": ") + 2); // without the line
  }
  return "none";
}

TEST(MeasuredSection, WhatIsWrongIsSaid) {
  EXPECT_EQ(errorOfRates("step_rank_seconds: 0", "step_rank_seconds: -1"),
            "step_rank_seconds is '-1'; accepted: 0 or a number up to 1e6 (seconds)");
  EXPECT_EQ(errorOfRates("busy_cores_share: 0", "busy_cores_share: 2").rfind("busy_cores_share is '2'; accepted: ", 0),
            0u);
  EXPECT_EQ(errorOfRates("  busy_cores_share: 0\n", "").rfind("none", 0), 0u); // files without it are read
  EXPECT_EQ(errorOfRates("seconds_per_operation: 2e-11", "seconds_per_operation: fast"),
            "seconds_per_operation is 'fast'; accepted: 0 or a number up to 1e6 (seconds)");
  EXPECT_EQ(errorOfRates("call_seconds: 1e-07, ", ""),
            "key 'call_seconds' is missing in linear in f64; needed: call_seconds, seconds_per_operation, "
            "seconds_per_byte, seconds_per_item");
  EXPECT_EQ(errorOfRates("bf16: {call", "fp8: {call"), "unknown key 'fp8' in linear; accepted: f64, f32, bf16, f16");
  EXPECT_EQ(errorOfRates("    all_reduce:", "    broadcast:"),
            "unknown key 'broadcast' in exchanges; accepted: all_gather, all_reduce, all_to_all, reduce_scatter, send");
  EXPECT_EQ(errorOfRates("{ranks: 4,", "{ranks: 2,"),
            "ranks is '2'; accepted: numbers of ranks that ascend, here 3 or more");
  EXPECT_EQ(errorOfRates("{ranks: 2,", "{ranks: 1.5,"),
            "ranks is '1.5'; accepted: a whole number from 1 to 1073741824 (ranks that take part)");
  EXPECT_EQ(errorOfRates("    linear:", "    fill:").rfind("fill is given twice, first in line ", 0), 0u);
}

} // namespace
