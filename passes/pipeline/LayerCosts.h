//===- LayerCosts.h - what the layers of a micro-batch cost ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the partitioned program to the numbers that a cut is chosen by: times from
// CostOpInterface and a device, bytes from types. An op counts for its tgpt.layer; one
// without goes where dist-split-stages would put it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_LAYERCOSTS_H
#define TGPT_PASSES_PIPELINE_LAYERCOSTS_H

#include "cost/DeviceProfile.h"
#include "cost/Topology.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/StageProblem.h"

namespace tgpt {

/// What decides the costs beside the program.
struct CostAssumptions {
  cost::DeviceProfile device;
  int64_t zero = 0;         ///< what dp ranks will share out, as --zero
  int64_t zeroPrefetch = 0; ///< layers ahead of use that stage 3 will gather parameters
  /// The gradients of parameters will run apart (dist-split-weight-gradients): what they use is kept for them.
  bool splitsWeightGradients = false;
  std::optional<cost::Topology> links = std::nullopt; ///< between ranks; without them collectives take no time
  bool overlaps = false;                              ///< collectives will run beside computation (--overlap)
  int64_t productWorkspaceBytes = 0;                  ///< of a product that may be a library's
};

/// The parts of the model and what they cost; stages, slots and limit are left to the caller.
/// Reports what has no cost: layers out of range, buckets (a cut is chosen before them), and
/// sizes that no machine has.
mlir::FailureOr<StageProblem> costsOfLayers(mlir::ModuleOp module, mlir::func::FuncOp microBatch, int64_t layerCount,
                                            const CostAssumptions &assumptions);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_LAYERCOSTS_H
