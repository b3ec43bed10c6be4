//===- CollectiveTime.cpp - seconds of a collective ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/CollectiveTime.h"
#include "cost/SharedLinks.h"
#include <cmath>
#include <limits>

namespace tgpt::cost {

/// Whether neighbours in a ring meet in a level: some are ranks of one of its units.
static bool meetsIn(const Level &level, double stride) {
  return level.ranks <= 0 || stride < level.ranks;
}

/// The switches of the outermost level that a ring crosses add up only for all ranks of the units that hang from it,
/// and inside a node only for all of the node.
static bool switchReduces(const Topology &topology, int outermost, const Group &group) {
  const Level &level = topology.levels[outermost];
  if (level.reducingBytesPerSecond <= 0 || group.stride != 1)
    return false;
  return outermost == 0 ? group.ranks == level.ranks : std::fmod(group.ranks, topology.ranksBelow(outermost)) == 0;
}

RingLinks ringLinks(const Topology &topology, const Group &group) {
  RingLinks ring;
  ring.ranks = group.ranks;
  if (group.ranks <= 1)
    return ring;
  double slowest = std::numeric_limits<double>::infinity(), slowestReducing = slowest, units = group.ranks;
  for (int index = 0; index < topology.levelCount && units > 1; ++index) {
    const Level &level = topology.levels[index];
    double larger = index + 1 == topology.levelCount ? 1 : unitsTouched(group, level.ranks);
    bool isMet = meetsIn(level, group.stride);
    if (isMet || level.carriesOuter) {
      double links = linksOfRing(group, topology.ranksBelow(index), level.links);
      double rate = links * level.bytesPerSecond;
      slowest = std::min(slowest, rate);
      slowestReducing =
          std::min(slowestReducing, level.reducingBytesPerSecond > 0 ? links * level.reducingBytesPerSecond : rate);
    }
    if (isMet) {
      ring.latencySeconds += level.latencySeconds;
      ring.ringSeconds += level.hopSeconds * (units - larger);
      ring.treeSeconds += level.hopSeconds * 2 * std::ceil(std::log2(units / larger));
      ring.fillSeconds = level.fillSeconds;
      ring.outermost = index;
    }
    units = larger;
  }
  ring.bytesPerSecond = slowest;
  ring.reducingBytesPerSecond = switchReduces(topology, ring.outermost, group) ? slowestReducing : slowest;
  return ring;
}

/// `wire` bytes over each of the ring's links, in the best number of chunks.
static double wireSeconds(double wire, double bytesPerSecond, double fillSeconds) {
  double seconds = wire / bytesPerSecond;
  return seconds + 2 * std::sqrt(fillSeconds * seconds);
}

double allReduceSeconds(const RingLinks &ring, double bytes) {
  if (ring.ranks <= 1)
    return 0;
  double wire = 2 * (ring.ranks - 1) / ring.ranks * bytes;
  return ring.latencySeconds + ring.treeSeconds + wireSeconds(wire, ring.reducingBytesPerSecond, ring.fillSeconds);
}

double allGatherSeconds(const RingLinks &ring, double bytes) {
  if (ring.ranks <= 1)
    return 0;
  double wire = (ring.ranks - 1) / ring.ranks * bytes;
  return ring.latencySeconds + ring.ringSeconds + wireSeconds(wire, ring.bytesPerSecond, ring.fillSeconds);
}

double allReduceSeconds(const Topology &topology, const Group &group, double bytes) {
  return allReduceSeconds(ringLinks(topology, group), bytes);
}

double allGatherSeconds(const Topology &topology, const Group &group, double bytes) {
  return allGatherSeconds(ringLinks(topology, group), bytes);
}

double reduceScatterSeconds(const Topology &topology, const Group &group, double bytes) {
  return allGatherSeconds(ringLinks(topology, group), bytes);
}

double allToAllSeconds(const Topology &topology, const Group &group, double bytes) {
  if (group.ranks <= 1)
    return 0;
  double latency = 0, slowest = 0, held = 1; // ranks of the group in the unit below
  for (int index = 0; index < topology.levelCount && held < group.ranks; ++index) {
    const Level &level = topology.levels[index];
    bool isLast = index + 1 == topology.levelCount || level.ranks <= 0;
    double holds = isLast ? group.ranks : group.ranksOnUnit(level.ranks);
    if (holds > held)
      latency += level.latencySeconds + level.hopSeconds;
    // Every rank sends each piece once, over its share of the links: no neighbour forwards it.
    double pieces = (level.carriesOuter ? group.ranks : holds) - held;
    double below = topology.ranksBelow(index);
    double share = level.bytesPerSecond * (level.links > 0 ? level.links / below : 1);
    slowest = std::max(slowest, pieces / group.ranks * bytes / share);
    held = holds;
  }
  return latency + slowest;
}

double sendSeconds(const Topology &topology, double distance, double bytes) {
  double seconds = 0;
  for (int index = 0; index < topology.levelCount; ++index) {
    const Level &level = topology.levels[index];
    bool isLast = index + 1 == topology.levelCount || level.ranks <= 0 || distance < level.ranks;
    if (!isLast && !level.carriesOuter)
      continue;
    // The last `distance` ranks of a unit send to the next one, each over one link at most.
    double below = topology.ranksBelow(index), senders = std::min(distance, below);
    double rate = level.bytesPerSecond * (level.links > 0 ? std::min(level.links / senders, 1.0) : 1);
    double moving = bytes / rate + 2 * std::sqrt(level.sendFillSeconds * bytes / rate);
    seconds = isLast ? std::max(seconds, moving) + level.latencySeconds + level.hopSeconds : std::max(seconds, moving);
    if (isLast)
      break;
  }
  return seconds;
}

} // namespace tgpt::cost
