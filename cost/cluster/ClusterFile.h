//===- ClusterFile.h - reads and writes cluster files ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster file (recipes/README.md) is YAML with the figures of a cluster's hardware,
// each with its source in a comment. Reading one is strict: every key must be known and
// there once, and every figure must be one that hardware can have. What may be left out:
//
//   ranks_per_node, levels   both: one node, whose ranks reach each other through memory
//   communicator             communicators take no memory of their own
//   software                 as tgptSoftware() says, whole or key by key
//   measured                 every time follows from the device and the links
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_CLUSTERFILE_H
#define TGPT_COST_CLUSTER_CLUSTERFILE_H

#include "cost/cluster/Cluster.h"
#include <filesystem>
#include <stdexcept>

namespace tgpt::cost {

/// What is wrong with a cluster file: "file:line: what; accepted: ...".
struct ClusterError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws ClusterError.
Cluster readClusterFile(const std::filesystem::path &path);
/// As above, from text; `fileName` is what errors call it.
Cluster parseCluster(const std::string &text, const std::string &fileName);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_CLUSTERFILE_H
