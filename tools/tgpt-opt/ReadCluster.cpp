//===- ReadCluster.cpp - the device and links to compile for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadCluster.h"
#include "Fail.h"
#include "compiler/driver/ClusterOptions.h"
#include "cost/cluster/ClusterFile.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <cstdio>

using namespace mlir;
using namespace tgpt;

/// The memory of a device, for the report.
static DeviceBudget budgetOf(const cost::DeviceProfile &device, const std::string &file) {
  auto whole = [](double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p60)); };
  return {device.name,
          whole(device.memoryBytes),
          {{"context and libraries", whole(device.reservedBytes), llvm::sys::path::filename(file).str()}}};
}

/// The last level of a cluster's links may end at some number of ranks.
static LogicalResult checkRankCount(const CompileOptions &options, const cost::Cluster &cluster) {
  double ranks = double(options.dp) * double(options.pp) * double(options.tp), most = cluster.topology.mostRanks();
  if (most == 0 || ranks <= most)
    return success();
  return fail("--dp=" + llvm::Twine(options.dp) + " x --pp=" + llvm::Twine(options.pp) +
              " x --tp=" + llvm::Twine(options.tp) + " are " + llvm::Twine(int64_t(ranks)) + " ranks, but cluster '" +
              cluster.name + "' has links for " + llvm::Twine(int64_t(most)));
}

/// Takes over what the cluster file says.
static LogicalResult readCluster(CompileRequest &request) {
  try {
    cost::Cluster cluster = cost::readClusterFile(request.cluster);
    if (failed(checkRankCount(request.options, cluster)))
      return failure();
    if (memoryForPlan(request.options, cluster) < 1)
      return fail("'" + request.cluster + "' leaves nothing of the memory of a " + cluster.device.name + " (" +
                  Twine(int64_t(std::min(cluster.device.memoryBytes, 0x1p60))) +
                  " bytes) beside its context and communicators");
    applyCluster(request.options, cluster);
    request.budget = budgetOf(cluster.device, request.cluster);
    request.figures = std::move(cluster);
    return success();
  } catch (const cost::ClusterError &error) {
    return fail(error.what());
  }
}

FailureOr<CompileRequest> tgpt::withCluster(CompileRequest request) {
  constexpr double mostGib = 1 << 30;
  if (request.givesMemoryGib && !(request.memoryGib > 0 && request.memoryGib <= mostGib)) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", request.memoryGib);
    return fail("--memory-gib is " + Twine(text) + ", expected a number above 0, of at most 1073741824");
  }
  if (!request.cluster.empty() && failed(readCluster(request)))
    return failure();
  if (request.productWorkspaceBytes)
    request.options.productWorkspaceBytes = *request.productWorkspaceBytes;
  if (request.givesMemoryGib)
    request.options.memoryLimitBytes = std::max<int64_t>(std::llround(request.memoryGib * 0x1p30), 1);
  return request;
}
