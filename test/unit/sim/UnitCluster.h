//===- UnitCluster.h - a cluster whose times can be added up by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device does one operation a second, moves bytes in no time (1e30 a second, which no
// sum of seconds notices) and launches for nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_SIM_UNITCLUSTER_H
#define TGPT_TEST_UNIT_SIM_UNITCLUSTER_H

#include "cost/cluster/Cluster.h"

namespace tgpt::test {

/// Links that move `bytesPerSecond` and take `latencySeconds` for whatever they move.
inline cost::Cluster unitCluster(double bytesPerSecond, double latencySeconds = 0) {
  cost::Cluster cluster;
  cluster.name = "unit";
  cluster.device.name = "unit";
  cluster.device.memoryBytes = 1e30;
  cluster.device.memoryBytesPerSecond = 1e30;
  cluster.device.matrixFlopsPerSecond.figures = {1, 1, 1, 1};
  cluster.device.vectorFlopsPerSecond.figures = {1, 1, 1, 1};
  for (cost::EfficiencyCurve *curve :
       {&cluster.device.matrixEfficiency, &cluster.device.attentionEfficiency, &cluster.device.memoryEfficiency})
    curve->points = {{1, 1}};
  cluster.topology.ranksPerNode = 0;
  cluster.topology.levelCount = 1;
  cluster.topology.levels[0].bytesPerSecond = bytesPerSecond;
  cluster.topology.levels[0].latencySeconds = latencySeconds;
  cluster.software.overlapSlowdown = 0.25;
  cluster.software.stepSeconds = 0;
  return cluster;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_SIM_UNITCLUSTER_H
