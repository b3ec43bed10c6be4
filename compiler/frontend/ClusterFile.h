//===- ClusterFile.h - reads cluster files ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster file (recipes/README.md) is YAML with the figures of a cluster's hardware,
// each with its source in a comment. Reading one is strict: every key must be there once,
// none else, and every figure must be one that a device can have.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_CLUSTERFILE_H
#define TGPT_COMPILER_FRONTEND_CLUSTERFILE_H

#include "cost/DeviceProfile.h"
#include <filesystem>
#include <stdexcept>

namespace tgpt {

struct Cluster {
  std::string name;
  cost::DeviceProfile device; ///< what a rank computes with
};

/// What is wrong with a cluster file: "file:line: what; accepted: ...".
struct ClusterError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws ClusterError.
Cluster readClusterFile(const std::filesystem::path &path);
/// As above, from text; `fileName` is what errors call it.
Cluster parseCluster(const std::string &text, const std::string &fileName);

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_CLUSTERFILE_H
