//===- ClusterFile.cpp - reads cluster files ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/ClusterFile.h"
#include "cost/cluster/MeasuredSection.h"
#include "cost/cluster/YamlSection.h"
#include "cost/cluster/YamlText.h"
#include <cmath>
#include <fstream>
#include <sstream>

namespace tgpt::cost {
namespace {

DeviceProfile readDevice(const YAML::Node &node, const std::string &fileName) {
  std::vector<std::string> keys = {"name"};
  for (const DeviceField &field : deviceFields())
    keys.push_back(field.key);
  YamlSection section(node, "device", fileName, keys);
  DeviceProfile device;
  device.name = section.word("name");
  for (const DeviceField &field : deviceFields())
    std::visit([&](auto member) { section.read(field, device.*member); }, field.member);
  if (std::string fault = faultOf(device); !fault.empty())
    section.fail(section.at("reserved_bytes"), fault);
  return device;
}

std::string whole(double number) {
  return std::to_string(static_cast<long long>(number));
}

Level readLevel(const YamlSection &section, const YAML::Node &node, const Topology &topology, bool isLast) {
  Level level;
  level.carriesOuter = topology.levelCount > 0;
  section.read(levelFields(), level);
  if (!isLast && !section.has("ranks"))
    section.fail(node, "key 'ranks' is missing in a level; only the last one may join any number of ranks");
  double below = topology.ranksBelow(topology.levelCount);
  if (level.ranks > 0 && (level.ranks <= below || std::fmod(level.ranks, below) != 0))
    section.refuse("ranks", section.at("ranks"),
                   "a multiple of the " + whole(below) + " of a unit below, at least " + whole(2 * below));
  return level;
}

void readLevels(const YamlSection &root, const std::string &fileName, Cluster &cluster) {
  const YAML::Node &levels = root.at("levels");
  if (!levels.IsSequence() || levels.size() == 0 || levels.size() > Topology::mostLevels)
    root.refuse("levels", levels,
                "a list of 1 to " + std::to_string(Topology::mostLevels) + " levels, from the inside out");
  Topology &topology = cluster.topology;
  topology.levelCount = 0;
  std::vector<std::string> required = YamlSection::keysOf(levelFields(), false);
  required.insert(required.begin(), "name");
  for (const YAML::Node &node : levels) {
    YamlSection section(node, "a level", fileName, required, YamlSection::keysOf(levelFields(), true));
    bool isLast = topology.levelCount + 1 == static_cast<int>(levels.size());
    cluster.levelNames.push_back(section.word("name"));
    Level level = readLevel(section, node, topology, isLast);
    topology.levels[topology.levelCount++] = level;
  }
}

/// Nodes are the units of one level; where there is one level, without an end, they hold any number of ranks.
void readNodes(const YamlSection &root, Cluster &cluster) {
  Topology &topology = cluster.topology;
  topology.ranksPerNode = root.number("ranks_per_node", FigureRange::Count, "ranks that one node holds");
  if (topology.levelCount == 1 && topology.mostRanks() == 0)
    return;
  std::string accepted;
  for (int level = 0; level < topology.levelCount; ++level) {
    if (topology.levels[level].ranks == topology.ranksPerNode)
      return;
    if (topology.levels[level].ranks > 0)
      accepted += (accepted.empty() ? "" : ", ") + whole(topology.levels[level].ranks);
  }
  root.refuse("ranks_per_node", root.at("ranks_per_node"),
              "what one of the levels joins as its 'ranks'" + (accepted.empty() ? "" : ": " + accepted));
}

Cluster readCluster(const YAML::Node &node, const std::string &fileName) {
  YamlSection root(node, "the cluster", fileName, {"name", "device"},
                   {"ranks_per_node", "levels", "cores_per_node", "product_workspace_bytes", "communicator", "software",
                    "measured"});
  Cluster cluster;
  cluster.name = root.word("name");
  cluster.device = readDevice(root.at("device"), fileName);
  cluster.topology = singleNode(cluster.device);
  cluster.software = tgptSoftware();
  if (root.has("levels") != root.has("ranks_per_node"))
    root.fail(root.at(root.has("levels") ? "levels" : "ranks_per_node"),
              std::string(root.has("levels") ? "levels" : "ranks_per_node") + " is given without " +
                  (root.has("levels") ? "ranks_per_node" : "levels") + "; accepted: both, or none for a single node");
  if (root.has("levels")) {
    readLevels(root, fileName, cluster);
    readNodes(root, cluster);
  } else {
    cluster.levelNames = {"memory"};
  }
  if (root.has("cores_per_node"))
    cluster.coresPerNode = root.number("cores_per_node", FigureRange::Count, "cores that the ranks of a node share");
  if (root.has("product_workspace_bytes"))
    cluster.productWorkspaceBytes =
        root.number("product_workspace_bytes", FigureRange::Count, "bytes that products of a library are given");
  if (root.has("communicator"))
    YamlSection(root.at("communicator"), "communicator", fileName, YamlSection::keysOf(communicatorFields(), false))
        .read(communicatorFields(), cluster.communicator);
  if (root.has("software"))
    YamlSection(root.at("software"), "software", fileName, {}, YamlSection::keysOf(softwareFields(), true))
        .read(softwareFields(), cluster.software);
  if (root.has("measured"))
    cluster.measured = readMeasured(root.at("measured"), fileName);
  return cluster;
}

} // namespace

Cluster parseCluster(const std::string &text, const std::string &fileName) {
  try {
    return readCluster(soleDocument(text), fileName);
  } catch (const YamlTextError &error) {
    throw ClusterError(fileName + ":" + std::to_string(error.line) + ": " + error.what());
  } catch (const YAML::Exception &error) {
    throw ClusterError(fileName + ":" + std::to_string(std::max(error.mark.line, 0) + 1) +
                       ": not valid YAML: " + error.msg);
  }
}

Cluster readClusterFile(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw ClusterError("no cluster file '" + path.string() + "'; recipes/clusters has some");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0)
    return parseCluster("", path.string()); // says what a cluster file is
  // A device may have no end.
  if (std::filesystem::is_directory(path, error) || std::filesystem::is_character_file(path, error) || !file ||
      !(text << file.rdbuf()))
    throw ClusterError("cannot read cluster file '" + path.string() + "': it is not a readable file");
  return parseCluster(text.str(), path.string());
}

} // namespace tgpt::cost
