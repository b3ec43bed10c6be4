//===- CallGroup.h - several calls of a segment that are one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the finders of this folder find: calls whose operands one call of a device kernel
// takes together. It runs where the first of them stands, and gives the bits that they give
// one by one. Each call is in one group; `isTaken` says which are in some already.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLGROUP_H
#define TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLGROUP_H

#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/kernels/cuda/fusion/CallOrder.h"

namespace tgpt::runtime::cuda {

struct CallGroup {
  std::string name;          // "add, layer_norm"
  std::vector<size_t> calls; // ascending
  KernelFunction function = nullptr;
  size_t workspaceBytes = 0;
  std::vector<TensorView> inputs, outputs;
  Attributes attributes;

  KernelCall call() const { return {inputs, outputs, &attributes}; }
};

/// Whether every result lies apart from all that is read and written, or just on an operand of its own size and that of
/// `matrix`, an operand of which a thread reads an element before it writes one there.
bool resultsLieWell(const CallGroup &group, const TensorView &matrix);

/// Sums that a norm reads, and sums with what a norm's gradient makes (ResidualNorms.cpp).
std::vector<CallGroup> findResidualNorms(std::span<const PlannedCall> calls, std::span<const DeviceKernel> kernels,
                                         std::vector<bool> &isTaken);

/// Losses, and the gradients of their logits (LossGradients.cpp).
std::vector<CallGroup> findLossGradients(std::span<const PlannedCall> calls, std::span<const DeviceKernel> kernels,
                                         std::vector<bool> &isTaken);

/// Calls of one kernel for one tensor each, which a launch does together (TensorGroups.cpp).
std::vector<CallGroup> findTensorGroups(std::span<const PlannedCall> calls, std::span<const DeviceKernel> kernels,
                                        std::vector<bool> &isTaken);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLGROUP_H
