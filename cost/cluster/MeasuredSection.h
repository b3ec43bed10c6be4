//===- MeasuredSection.h - the measured rates of a cluster file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   measured:
//     step_seconds: 2e-5
//     step_rank_seconds: 1e-5
//     busy_cores_share: 0.05   (0 where it is missing)
//     kernels:
//       linear:
//         f32: {call_seconds: 1e-7, seconds_per_operation: 9e-12, seconds_per_byte: 1e-11, seconds_per_item: 0}
//     exchanges:
//       all_reduce:
//         - {ranks: 2, latency_seconds: 1e-6, seconds_per_byte: 5e-11}
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_MEASUREDSECTION_H
#define TGPT_COST_CLUSTER_MEASUREDSECTION_H

#include "cost/MeasuredRates.h"
#include <yaml-cpp/yaml.h>

namespace tgpt::cost {

/// Throws ClusterError, as readClusterFile does.
MeasuredRates readMeasured(const YAML::Node &node, const std::string &fileName);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_MEASUREDSECTION_H
