//===- ClusterOptions.cpp - what a cluster decides of a compilation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ClusterOptions.h"
#include "cost/DeviceText.h"
#include <algorithm>

void tgpt::applyCluster(CompileOptions &options, const cost::Cluster &cluster) {
  options.device = cost::deviceText(cluster.device);
  options.memoryLimitBytes = static_cast<int64_t>(std::min(cluster.device.planBytes(), 0x1p60));
}
