//===- Cluster.h - the hardware of a run, and what tgpt makes of it ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a cluster file says (recipes/README.md): one device, the levels of links
// between ranks, the memory of communicators, and the figures of the software.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_CLUSTER_H
#define TGPT_COST_CLUSTER_CLUSTER_H

#include "cost/DeviceProfile.h"
#include "cost/Execution.h"
#include "cost/MeasuredRates.h"
#include <string>
#include <vector>

namespace tgpt::cost {

/// Communicators of a rank.
struct CommunicatorCount {
  double communicators = 0; ///< of more than one rank
  double peers = 0;         ///< ranks that sends go to or come from

  bool operator==(const CommunicatorCount &) const = default;
};

/// Device memory that communicators take for themselves, outside of a plan's arena.
struct CommunicatorMemory {
  double bytes = 0;        ///< of each communicator of more than one rank
  double bytesPerPeer = 0; ///< of each rank that sends go to or come from

  double bytesOf(const CommunicatorCount &count) const {
    return bytes * count.communicators + bytesPerPeer * count.peers;
  }
  bool operator==(const CommunicatorMemory &) const = default;
};

struct Cluster {
  std::string name;
  DeviceProfile device; ///< what a rank computes with
  Topology topology;    ///< its links
  std::vector<std::string> levelNames;
  double coresPerNode = 0; ///< that the ranks of a node share, however many they are; 0: each has a device of its own
  double productWorkspaceBytes = 0; ///< of a plan's arena, that products of a library are given; 0: nothing
  CommunicatorMemory communicator;
  Software software;                     ///< tgpt's runtime on this hardware
  std::optional<MeasuredRates> measured; ///< of single kernels and collectives, where the file has them

  /// The same, as the closed forms of a step take it. A core has no multiprocessors that tiles are shared out to.
  Machine machine() const;
};

/// What tgpt's own runtime makes of hardware, where a file doesn't say otherwise: of plans compiled with --overlap.
/// Each figure's reason stands beside it.
Software tgptSoftware();
/// The same of plans compiled without --overlap: every collective is waited for where it starts.
Software withoutOverlap(Software software);

/// The links of a cluster of which no file says any: one node, whose ranks reach each other through the device's
/// memory.
Topology singleNode(const DeviceProfile &device);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_CLUSTER_H
