//===- TopologyText.h - the links of a cluster in one line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass takes the links as an option, so that a pipeline prints and replays (as devices
// in cost/DeviceText.h). The ranks of a node, then the levels from the inside out, each
// with its figures in the order of a cluster file's keys (levelFields):
//
//   8;8,0,3.18e11,4.81e11,2.4e-05,0,3.4e-06,3e-05,0;0,0,4.8e10,...
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_TOPOLOGYTEXT_H
#define TGPT_COST_CLUSTER_TOPOLOGYTEXT_H

#include "cost/Topology.h"
#include <optional>
#include <string>

namespace tgpt::cost {

/// The links in one line without spaces; `parseTopology` gives the same back.
std::string topologyText(const Topology &topology);
/// Reads what `topologyText` writes. None with `error` set where it is not that.
std::optional<Topology> parseTopology(const std::string &text, std::string &error);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_TOPOLOGYTEXT_H
