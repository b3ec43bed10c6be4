//===- CollectiveTime.cpp - seconds of a collective ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/CollectiveTime.h"
#include <cmath>

namespace tgpt::cost {

/// `wire` bytes over each rank's slowest link, whose share of the node's cards grows with the group's ranks on it.
static double wireSeconds(const Topology &topology, const Group &group, double wire, double hops, bool reducing) {
  double onNode = group.ranksOnNode(topology);
  double nodes = std::ceil(group.ranks / onNode);
  bool switchReduces = reducing && nodes == 1 && onNode == topology.ranksPerNode;
  double within = switchReduces && topology.node.reducingBytesPerSecond > 0 ? topology.node.reducingBytesPerSecond
                                                                            : topology.node.bytesPerSecond;
  double across = topology.network.bytesPerSecond * onNode;
  double latency = onNode > 1 ? topology.node.latencySeconds : 0;
  double fill = topology.node.fillSeconds;
  double slowest = within;
  if (nodes > 1) {
    latency += topology.network.latencySeconds * hops;
    fill = topology.network.fillSeconds;
    slowest = onNode > 1 ? std::min(within, across) : across;
  }
  return latency + wire / slowest + 2 * std::sqrt(fill * wire / slowest);
}

double allReduceSeconds(const Topology &topology, const Group &group, double bytes) {
  if (group.ranks <= 1)
    return 0;
  // Between nodes a tree, there and back.
  double hops = 2 * std::ceil(std::log2(std::max(group.ranks / group.ranksOnNode(topology), 1.0)));
  return wireSeconds(topology, group, 2 * (group.ranks - 1) / group.ranks * bytes, hops, true);
}

double allGatherSeconds(const Topology &topology, const Group &group, double bytes) {
  if (group.ranks <= 1)
    return 0;
  // A ring over the nodes.
  double hops = std::ceil(group.ranks / group.ranksOnNode(topology)) - 1;
  return wireSeconds(topology, group, (group.ranks - 1) / group.ranks * bytes, hops, false);
}

double reduceScatterSeconds(const Topology &topology, const Group &group, double bytes) {
  return allGatherSeconds(topology, group, bytes);
}

double allToAllSeconds(const Topology &topology, const Group &group, double bytes) {
  if (group.ranks <= 1)
    return 0;
  double onNode = group.ranksOnNode(topology);
  double within =
      onNode > 1 ? topology.node.latencySeconds + (onNode - 1) / group.ranks * bytes / topology.node.bytesPerSecond : 0;
  if (group.ranks == onNode)
    return within;
  // What leaves the node leaves over every rank's own share: no neighbour forwards it.
  double across = (group.ranks - onNode) / group.ranks * bytes / topology.network.bytesPerSecond;
  return topology.network.latencySeconds + std::max(within, across);
}

double sendSeconds(const Topology &topology, double distance, double bytes) {
  const Link &link = distance < topology.ranksPerNode ? topology.node : topology.network;
  return link.latencySeconds + bytes / link.bytesPerSecond +
         2 * std::sqrt(link.sendFillSeconds * bytes / link.bytesPerSecond);
}

} // namespace tgpt::cost
