//===- ClusterFileTest.cpp - cluster files, good and bad ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/ClusterFile.h"
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace tgpt::cost;

namespace {

const std::filesystem::path clusters = std::filesystem::path(TGPT_RECIPES_DIR) / "clusters";

std::string textOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What a compile without --cluster assumes is written down, with sources.
TEST(ClusterFileTest, theBuiltInDeviceIsThatOfAFile) {
  EXPECT_EQ(readClusterFile(clusters / "dgx-h100.yaml").device, defaultDevice());
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
    while (std::getline(file, line)) {
      bool isFigure = line.rfind("  ", 0) == 0 && line.find('#') == std::string::npos;
      for (const char *word : {"  name:", "    ranks:", "    links:", "vector_flops"})
        isFigure &= line.find(word) == std::string::npos;
      if (isFigure) {
        EXPECT_NE(before.find("#"), std::string::npos) << entry.path() << ": no source above '" << line << "'";
      }
      before = line;
    }
  }
  EXPECT_GE(count, 5);
}

// A product of few results fills few multiprocessors of a GPU, but a core: it takes what its operations take.
TEST(ClusterFileTest, productsOnCoresHaveNoTiles) {
  constexpr Gemm small = {.m = 64, .n = 64, .k = 1024, .operandBytes = 4, .resultBytes = 4};
  Cluster cpu = readClusterFile(clusters / "laptop-cpu.yaml");
  Machine core = cpu.machine();
  const DeviceProfile &device = cpu.device;
  double operations = small.flops() / (device.matrixFlopsPerSecond[Dtype::F32] * device.matrixEfficiency.at(1e13));
  EXPECT_NEAR(gemmSeconds(core.device.curve(OperandType::Bits32), device.memoryBytesPerSecond, small),
              device.kernelLaunchSeconds + operations, 1e-12);
  Machine gpu = readClusterFile(clusters / "dgx-h100.yaml").machine();
  EXPECT_GT(gpu.device.curve(OperandType::Bits32).tileM, 1);
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
  EXPECT_EQ(
      errorWith("  memory_bytes: 84943715697", "  memory_bytes: 80 GiB"),
      "c.yaml:7: memory_bytes is '80 GiB'; accepted: a number from 1e-12 to 1e24 (memory that a program can get)");
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
  EXPECT_EQ(errorWith("  attention_efficiency: [[1e9, 0.332]]", "  attention_efficiency: [[1e9, 1.5]]").substr(0, 48),
            "c.yaml:25: attention_efficiency is [1e9, 1.5]; a");
  EXPECT_EQ(errorWith("name: dgx-h100", "name: a/b"),
            "c.yaml:2: name is 'a/b'; accepted: letters, digits, '_', '-' and '.'");
  EXPECT_EQ(errorWith("  kernel_launch_seconds: 4.8e-6", "  kernel_launch_seconds: \"4.8e-6\n\n  s\""),
            "c.yaml:15: kernel_launch_seconds is '4.8e-6...'; accepted: 0 or a number from 1e-12 to 1e24 (fixed cost "
            "of a kernel)");
  EXPECT_EQ(errorWith("ranks_per_node: 8", "ranks_per_node: " + std::string(70, '8')).substr(0, 97),
            "c.yaml:29: ranks_per_node is '" + std::string(60, '8') + "...'; a");
  EXPECT_EQ(errorWith("ranks_per_node: 8", "device:\n  name: second"),
            "c.yaml:29: device is given twice, first in line 4");
  EXPECT_EQ(errorWith("name: dgx-h100", "name: [").substr(0, 26), "c.yaml:5: not valid YAML: ");
  EXPECT_EQ(errorWith("device:", "device: 5\nmachine:").substr(0, 43), "c.yaml:5: unknown key 'machine' in the clus");
}

// What no one means to write: a clear error all the same, in one line and at once.
TEST(ClusterFileTest, hostileFilesAreRefused) {
  auto errorOf = [](const std::string &text) {
    try {
      parseCluster(text, "c.yaml");
    } catch (const ClusterError &error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(
      errorWith("  memory_bytes_per_second: 3.35e12", "  memory_bytes_per_second: 1e400"),
      "c.yaml:12: memory_bytes_per_second is '1e400'; accepted: a number from 1e-12 to 1e24 (peak of the memory)");
  EXPECT_EQ(errorWith("ranks_per_node: 8", "ranks_per_node:"),
            "c.yaml:29: ranks_per_node is empty; accepted: a whole number from 1 to 1073741824 (ranks that one node "
            "holds)");
  EXPECT_EQ(errorWith("ranks_per_node: 8", "ranks_per_node: {a: 1}").substr(0, 45),
            "c.yaml:29: ranks_per_node is a map; accepted:");
  EXPECT_EQ(errorWith("name: dgx-h100", "name: &a [*a, b]").substr(0, 24), "c.yaml:2: name is [[[[[[");
  EXPECT_EQ(errorWith("name: dgx-h100", std::string("name: a\0b", 9)), "c.yaml:2: a byte is 0, expected text");
  EXPECT_EQ(errorOf(std::string(100000, '[')),
            "c.yaml:1: maps and lists are nested too deeply, expected fewer than 500 in each other");
  EXPECT_EQ(errorOf("").substr(0, 38), "c.yaml:1: the cluster is not a map; ac");
  EXPECT_EQ(errorOf("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n").substr(0, 27), "c.yaml:1: unknown key 'a' i");
}

TEST(ClusterFileTest, productsMayHaveAWorkspace) {
  EXPECT_EQ(readClusterFile(clusters / "dgx-h100.yaml").productWorkspaceBytes, 32 << 20);
  EXPECT_EQ(readClusterFile(clusters / "dgx-a100.yaml").productWorkspaceBytes, 4 << 20);
  EXPECT_EQ(readClusterFile(clusters / "laptop-cpu.yaml").productWorkspaceBytes, 0);
  EXPECT_EQ(errorWith("product_workspace_bytes: 33554432", "product_workspace_bytes: 0"),
            "c.yaml:79: product_workspace_bytes is '0'; accepted: a whole number from 1 to 1073741824 (bytes that "
            "products of a library are given)");
}

TEST(ClusterFileTest, ranksMayShareCores) {
  EXPECT_EQ(readClusterFile(clusters / "dgx-h100.yaml").coresPerNode, 0);
  EXPECT_EQ(readClusterFile(clusters / "laptop-cpu.yaml").coresPerNode, 4);
  EXPECT_EQ(errorWith("name: dgx-h100", "name: dgx-h100\ncores_per_node: 0"),
            "c.yaml:3: cores_per_node is '0'; accepted: a whole number from 1 to 1073741824 (cores that the ranks of a "
            "node share)");
}

const std::string levels = R"(ranks_per_node: 4
levels:
  - name: bridge
    ranks: 2
    bytes_per_second: 1e11
    latency_seconds: 1e-5
    hop_seconds: 0
    fill_seconds: 0
    send_fill_seconds: 0
  - {name: pcie, ranks: 4, links: 1, bytes_per_second: 2e10, latency_seconds: 1e-5, hop_seconds: 1e-6,
     fill_seconds: 1e-7, send_fill_seconds: 1e-8, carries_outer: false}
  - {name: network, bytes_per_second: 1e10, reducing_bytes_per_second: 3e10, latency_seconds: 0, hop_seconds: 1e-5,
     fill_seconds: 0, send_fill_seconds: 0}
communicator: {bytes: 1e8, bytes_per_peer: 1e7}
software: {tensor_overlap: 0.75, recompute_stops_early: false}
)";

/// The device of the H100's file, and no more.
std::string deviceOnly() {
  std::string text = textOf(clusters / "dgx-h100.yaml");
  return text.substr(0, text.find("\nranks_per_node:") + 1);
}

TEST(ClusterFileTest, everySectionIsRead) {
  Cluster cluster = parseCluster(deviceOnly() + levels, "c.yaml");
  EXPECT_EQ(cluster.levelNames, (std::vector<std::string>{"bridge", "pcie", "network"}));
  Topology expected;
  expected.ranksPerNode = 4;
  expected.levelCount = 3;
  expected.levels[0] = {.bytesPerSecond = 1e11, .latencySeconds = 1e-5, .ranks = 2};
  expected.levels[1] = {.bytesPerSecond = 2e10,
                        .latencySeconds = 1e-5,
                        .hopSeconds = 1e-6,
                        .fillSeconds = 1e-7,
                        .sendFillSeconds = 1e-8,
                        .ranks = 4,
                        .links = 1};
  expected.levels[2] = {
      .bytesPerSecond = 1e10, .reducingBytesPerSecond = 3e10, .hopSeconds = 1e-5, .carriesOuter = true};
  EXPECT_EQ(cluster.topology, expected);
  EXPECT_EQ(cluster.communicator, (CommunicatorMemory{1e8, 1e7}));
  EXPECT_EQ(cluster.software.tensorOverlap, 0.75);
  EXPECT_FALSE(cluster.software.recomputeStopsEarly);
  EXPECT_EQ(cluster.software.gradientBytes, tgptSoftware().gradientBytes); // what is not given
}

TEST(ClusterFileTest, aDeviceAloneIsOneNode) {
  Cluster cluster = parseCluster(deviceOnly(), "c.yaml");
  EXPECT_EQ(cluster.topology, singleNode(cluster.device));
  EXPECT_EQ(cluster.topology.levels[0].bytesPerSecond, 3.35e12 * 0.887 / 2);
  EXPECT_EQ(cluster.topology.mostRanks(), 0);
  EXPECT_EQ(cluster.communicator, CommunicatorMemory());
  EXPECT_EQ(cluster.levelNames.size(), 1u);
}

/// The error about a file with all sections in which `from` is replaced by `to`. Lines are those of the sections.
std::string sectionErrorWith(const std::string &from, const std::string &to) {
  std::string text = deviceOnly() + levels;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  int linesBefore = 28;
  try {
    parseCluster(text.replace(at, from.size(), to), "c.yaml");
  } catch (const ClusterError &error) {
    std::string message = error.what();
    size_t end = message.find(':', 7);
    return std::to_string(std::stoi(message.substr(7)) - linesBefore) + message.substr(end);
  }
  ADD_FAILURE() << "accepted: " << to;
  return "";
}

TEST(ClusterFileTest, refusalsOfTheOtherSections) {
  EXPECT_EQ(sectionErrorWith("    ranks: 2\n", ""),
            "3: key 'ranks' is missing in a level; only the last one may join any number of ranks");
  EXPECT_EQ(sectionErrorWith("    ranks: 2", "    ranks: 1"),
            "4: ranks is '1'; accepted: a multiple of the 1 of a unit below, at least 2");
  EXPECT_EQ(sectionErrorWith("    ranks: 2", "    ranks: 2.5"),
            "4: ranks is '2.5'; accepted: a whole number from 1 to 1073741824 (consecutive ranks that one unit joins)");
  EXPECT_EQ(sectionErrorWith("ranks: 4, links", "ranks: 3, links"),
            "10: ranks is '3'; accepted: a multiple of the 2 of a unit below, at least 4");
  EXPECT_EQ(sectionErrorWith("links: 1,", "links: 0,"), "10: links is '0'; accepted: a whole number from 1 to "
                                                        "1073741824 (by which a unit below hangs from the level)");
  EXPECT_EQ(sectionErrorWith("ranks_per_node: 4", "ranks_per_node: 8"),
            "1: ranks_per_node is '8'; accepted: what one of the levels joins as its 'ranks': 2, 4");
  EXPECT_EQ(sectionErrorWith("ranks_per_node: 4", ""),
            "3: levels is given without ranks_per_node; accepted: both, or none for a single node");
  EXPECT_EQ(sectionErrorWith("    bytes_per_second: 1e11", "    bytes_per_second: 0"),
            "5: bytes_per_second is '0'; accepted: a number from 1e-12 to 1e24 (one way, of one link)");
  EXPECT_EQ(sectionErrorWith("    hop_seconds: 0\n", "").substr(0, 45),
            "3: key 'hop_seconds' is missing in a level; n");
  EXPECT_EQ(sectionErrorWith("    hop_seconds: 0", "    hop_seconds: -1e-6"),
            "7: hop_seconds is '-1e-6'; accepted: 0 or a number from 1e-12 to 1e24 (of each hop over the level)");
  EXPECT_EQ(sectionErrorWith("carries_outer: false", "carries_outer: 1"),
            "11: carries_outer is '1'; accepted: true or false (what goes on to an outer level crosses the level too)");
  EXPECT_EQ(sectionErrorWith("    hop_seconds: 0", "    jitter: 0").substr(0, 35),
            "7: unknown key 'jitter' in a level;");
  EXPECT_EQ(sectionErrorWith("tensor_overlap: 0.75", "tensor_overlap: 1.5"),
            "15: tensor_overlap is '1.5'; accepted: a number from 0 to 1 (share of tp communication that is hidden)");
  EXPECT_EQ(sectionErrorWith("tensor_overlap: 0.75", "speed: 2").substr(0, 38),
            "15: unknown key 'speed' in software; a");
  EXPECT_EQ(
      sectionErrorWith("bytes_per_peer: 1e7", "bytes_per_peer: some"),
      "14: bytes_per_peer is 'some'; accepted: 0 or a number from 1e-12 to 1e24 (of each rank that sends go to or "
      "come from)");
  EXPECT_EQ(sectionErrorWith(", bytes_per_peer: 1e7", "").substr(0, 52),
            "14: key 'bytes_per_peer' is missing in communicator;");
  EXPECT_EQ(sectionErrorWith("communicator: {", "communicator: 5 #").substr(0, 29), "14: communicator is not a map");
  EXPECT_EQ(sectionErrorWith("levels:\n  - name: bridge", "levels:\n  - node: {}\n  - name: bridge").substr(0, 34),
            "3: unknown key 'node' in a level; ");
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
  EXPECT_EQ(error([] { parseCluster(deviceOnly() + "...\n# end\n", "c.yaml"); }), "accepted");
  EXPECT_EQ(error([] { parseCluster(deviceOnly() + "---\nname: other\n", "c.yaml"); }),
            "c.yaml:30: a second document begins, expected one (without '---' or '...' between its lines)");
  EXPECT_EQ(error([] { parseCluster(deviceOnly() + "...\n[\n", "c.yaml"); }).substr(0, 27),
            "c.yaml:31: not valid YAML: ");
  EXPECT_EQ(error([] { readClusterFile("none.yaml"); }), "no cluster file 'none.yaml'; recipes/clusters has some");
  EXPECT_EQ(error([] { readClusterFile("/"); }), "cannot read cluster file '/': it is not a readable file");
}

} // namespace
