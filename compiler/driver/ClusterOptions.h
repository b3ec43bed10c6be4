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

/// Bytes that the device leaves for a rank's arena beside its context and the communicators of these options.
double memoryForPlan(const CompileOptions &options, const cost::Cluster &cluster);

/// Sets the device and links that times follow from, and the limit of memory, once all else in `options` is known. For
/// tgpt-opt --cluster and for the planner, so that both compile the same.
void applyCluster(CompileOptions &options, const cost::Cluster &cluster);

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_CLUSTEROPTIONS_H
