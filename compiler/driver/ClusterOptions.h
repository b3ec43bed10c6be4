//===- ClusterOptions.h - what a cluster decides of a compilation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_DRIVER_CLUSTEROPTIONS_H
#define TGPT_COMPILER_DRIVER_CLUSTEROPTIONS_H

#include "compiler/driver/CompileOptions.h"
#include "cost/cluster/Cluster.h"

namespace tgpt {

/// Sets the device that times follow from, and the bytes that it leaves for a rank's arena. For tgpt-opt --cluster and
/// for the planner, so that both compile the same.
void applyCluster(CompileOptions &options, const cost::Cluster &cluster);

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_CLUSTEROPTIONS_H
