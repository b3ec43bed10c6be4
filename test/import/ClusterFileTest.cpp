//===- ClusterFileTest.cpp - cluster files, good and bad ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ClusterFile.h"
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace tgpt;

namespace {

const std::filesystem::path clusters = std::filesystem::path(TGPT_RECIPES_DIR) / "clusters";

std::string textOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What a compile without --cluster assumes is written down, with sources.
TEST(ClusterFileTest, theBuiltInDeviceIsThatOfAFile) {
  EXPECT_EQ(readClusterFile(clusters / "dgx-h100.yaml").device, cost::defaultDevice());
}

TEST(ClusterFileTest, shippedFilesAreReadAndHaveSources) {
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(clusters)) {
    Cluster cluster = readClusterFile(entry.path());
    EXPECT_EQ(cluster.name + ".yaml", entry.path().filename().string());
    EXPECT_GT(cluster.device.planBytes(), 0);
    ++count;
    std::ifstream file(entry.path());
    std::string line, before;
    bool isInDevice = false;
    while (std::getline(file, line)) {
      isInDevice |= line.rfind("device:", 0) == 0;
      bool isFigure = isInDevice && line.rfind("  ", 0) == 0 && line.find("#") == std::string::npos;
      bool isFirst = line.find("  name:") == 0, isWithVector = line.find("vector_flops") != std::string::npos;
      if (isFigure && !isFirst && !isWithVector) {
        EXPECT_NE(before.find("#"), std::string::npos) << entry.path() << ": no source above '" << line << "'";
      }
      before = line;
    }
  }
  EXPECT_GE(count, 3);
}

/// The error about the H100's file with `from` replaced by `to`.
std::string errorWith(const std::string &from, const std::string &to) {
  std::string text = textOf(clusters / "dgx-h100.yaml");
  size_t at = text.find("\n" + from) + 1;
  EXPECT_NE(at, std::string::npos + 1) << from;
  try {
    parseCluster(text.replace(at, from.size(), to), "c.yaml");
  } catch (const ClusterError &error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << to;
  return "";
}

TEST(ClusterFileTest, refusalsNameFileLineKeyAndWhatIsAccepted) {
  EXPECT_EQ(errorWith("  memory_bytes:", "  memory_gib: 80\n  memory_bytes:").substr(0, 86),
            "c.yaml:7: unknown key 'memory_gib' in device; accepted: name, memory_bytes, reserved_b");
  EXPECT_EQ(errorWith("  memory_bytes: 84943715697", "").substr(0, 68),
            "c.yaml:5: key 'memory_bytes' is missing in device; needed: name, mem");
  EXPECT_EQ(errorWith("  memory_bytes: 84943715697", "  memory_bytes: -5"),
            "c.yaml:7: memory_bytes is '-5'; accepted: a number from 1e-12 to 1e24 (memory that a program can get)");
  EXPECT_EQ(errorWith("  memory_bytes: 84943715697", "  memory_bytes: 80 GiB"),
            "c.yaml:7: memory_bytes is '80 GiB'; accepted: a number (memory that a program can get)");
  EXPECT_EQ(errorWith("  memory_bytes: 84943715697", "  memory_bytes: 5"),
            "c.yaml:10: reserved_bytes must be less than memory_bytes");
  EXPECT_EQ(errorWith("  memory_bytes: 84943715697", "  memory_bytes: 5\n  memory_bytes: 6"),
            "c.yaml:8: memory_bytes is given twice, first in line 7");
  EXPECT_EQ(errorWith("  kernel_launch_seconds: 4.8e-6", "  kernel_launch_seconds: -1"),
            "c.yaml:15: kernel_launch_seconds is '-1'; accepted: 0 or a number from 1e-12 to 1e24 (fixed cost of a "
            "kernel)");
  EXPECT_EQ(errorWith("  matrix_flops_per_second: {f64: 67e12, ", "  matrix_flops_per_second: {"),
            "c.yaml:17: key 'f64' is missing in matrix_flops_per_second; needed: f64, f32, bf16, f16");
  EXPECT_EQ(errorWith("  matrix_flops_per_second: {f64: 67e12, ", "  matrix_flops_per_second: {f64: 1, fp8: 2, "),
            "c.yaml:17: unknown key 'fp8' in matrix_flops_per_second; accepted: f64, f32, bf16, f16");
  EXPECT_EQ(
      errorWith("  attention_efficiency: [[1e9, 0.332]]", "  attention_efficiency: 0.3"),
      "c.yaml:25: attention_efficiency is '0.3'; accepted: a list of points [size, share] with sizes above 0 that "
      "ascend and shares from 0.0001 to 1, like [[1e9, 0.4], [1e11, 0.8]]");
  EXPECT_EQ(errorWith("  attention_efficiency: [[1e9, 0.332]]", "  attention_efficiency: [[1e9, 1.5]]").substr(0, 46),
            "c.yaml:25: attention_efficiency is a list; acc");
  EXPECT_EQ(errorWith("name: dgx-h100", "name: a/b"),
            "c.yaml:2: name is 'a/b'; accepted: letters, digits, '_', '-' and '.'");
  EXPECT_EQ(errorWith("name: dgx-h100", "name: [").substr(0, 26), "c.yaml:5: not valid YAML: ");
  EXPECT_EQ(errorWith("device:", "device: 5\nmachine:").substr(0, 43), "c.yaml:5: unknown key 'machine' in the clus");
}

TEST(ClusterFileTest, whatIsNoClusterFile) {
  auto error = [](auto read) -> std::string {
    try {
      read();
    } catch (const ClusterError &error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(error([] { parseCluster("", "c.yaml"); }),
            "c.yaml:1: the cluster is not a map; accepted: keys with values, like 'name: mine'");
  EXPECT_EQ(error([] { readClusterFile("none.yaml"); }), "no cluster file 'none.yaml'; recipes/clusters has some");
  EXPECT_EQ(error([] { readClusterFile("/"); }), "cannot read cluster file '/': it is not a readable, non-empty file");
}

} // namespace
