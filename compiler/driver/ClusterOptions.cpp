//===- ClusterOptions.cpp - what a cluster decides of a compilation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ClusterOptions.h"
#include "compiler/driver/Communicators.h"
#include "cost/DeviceText.h"
#include "cost/cluster/TopologyText.h"
#include <algorithm>

double tgpt::memoryForPlan(const CompileOptions &options, const cost::Cluster &cluster) {
  return cluster.device.planBytes() - cluster.communicator.bytesOf(communicatorsOf(options));
}

void tgpt::applyCluster(CompileOptions &options, const cost::Cluster &cluster) {
  options.device = cost::deviceText(cluster.device);
  options.productWorkspaceBytes = static_cast<int64_t>(cluster.productWorkspaceBytes);
  options.links = cost::topologyText(cluster.topology);
  options.memoryLimitBytes = static_cast<int64_t>(std::min(memoryForPlan(options, cluster), 0x1p60));
}
