//===- Topology.h - links between ranks, by level ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are numbered so that ranks of one node are consecutive. A group of a mesh axis is
// `ranks` ranks at distance `stride`. Inside a node every rank has its own link (NVLink);
// what leaves a node shares the node's network cards: a group with g ranks on a node of r
// runs beside r / g like it, and so gets g of the node's r shares.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_TOPOLOGY_H
#define TGPT_COST_TOPOLOGY_H

#include <algorithm>

namespace tgpt::cost {

/// The links of one level.
struct Link {
  double bytesPerSecond = 0;         ///< of one rank, one way, as a ring of large messages reaches
  double reducingBytesPerSecond = 0; ///< of an all_reduce, where the switch adds up (0: as a ring)
  double latencySeconds = 0;         ///< of one collective within a node; of one hop between nodes
  double fillSeconds = 0;            ///< of one chunk: what filling the pipeline of chunks costs
  double sendFillSeconds = 0;        ///< the same of a send, which has fewer channels at work
};

struct Topology {
  double ranksPerNode = 8;
  Link node;    ///< within a node
  Link network; ///< between nodes; bytesPerSecond is a rank's share of its node's cards
};

/// The ranks of one group of a mesh axis.
struct Group {
  double ranks = 1, stride = 1;

  /// How many of them one node holds.
  double ranksOnNode(const Topology &topology) const { return std::clamp(topology.ranksPerNode / stride, 1.0, ranks); }
};

} // namespace tgpt::cost

#endif // TGPT_COST_TOPOLOGY_H
