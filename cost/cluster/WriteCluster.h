//===- WriteCluster.h - the text of a cluster file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_WRITECLUSTER_H
#define TGPT_COST_CLUSTER_WRITECLUSTER_H

#include "cost/cluster/Cluster.h"
#include <functional>

namespace tgpt::cost {

/// The line above a figure, by its path ("device.memory_bytes", "measured.kernels.linear.f32"); empty: none.
using CommentOf = std::function<std::string(const std::string &path)>;

/// A file that parseCluster reads as the same cluster. `head` are lines about the whole file. Of a cluster without
/// nodes (ranksPerNode 0) the links are left out: they follow from the device.
std::string clusterText(
    const Cluster &cluster, const std::vector<std::string> &head = {},
    const CommentOf &commentOf = [](const std::string &) { return std::string(); });

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_WRITECLUSTER_H
