//===- Problems.cpp - what a model is planned for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/Problems.h"
#include "compiler/driver/ClusterOptions.h"
#include <algorithm>

namespace tgpt {

search::Problem problemOf(const cost::ModelShape &shape, const cost::Cluster &cluster, const std::string &dtype) {
  search::Problem problem;
  problem.shape = shape;
  problem.machine = cluster.machine();
  problem.memoryBytes = cluster.device.planBytes();
  problem.productWorkspaceBytes = cluster.productWorkspaceBytes;
  problem.communicatorBytes = [cluster, all = problem.memoryBytes](const search::Candidate &candidate) {
    CompileOptions options = compileOptionsOf(candidate, {});
    applyCluster(options, cluster);
    return std::max(all - static_cast<double>(options.memoryLimitBytes), 0.0);
  };
  if (dtype == "f32") {
    problem.operands = cost::OperandType::Bits32;
    problem.elementBytes = 4;
    problem.states = {.parameter = 4, .gradient = 4, .master = 0, .moments = 8, .logit = 4};
    const cost::ByDtype &peaks = cluster.device.matrixFlopsPerSecond;
    double share = peaks[cost::Dtype::F32] / peaks[cost::Dtype::BF16];
    problem.machine.device.attentionForwardFlopsPerSecond *= share;
    problem.machine.device.attentionBackwardFlopsPerSecond *= share;
  } else {
    problem.states = {.parameter = 2, .gradient = 4, .master = 4, .moments = 8, .logit = 2};
  }
  problem.blocking = problem.machine;
  problem.blocking.software = cost::withoutOverlap(problem.machine.software);
  return problem;
}

} // namespace tgpt
