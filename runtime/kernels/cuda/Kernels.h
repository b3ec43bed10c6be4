//===- Kernels.h - the device kernels by name -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file for each family of KERNELS.md; Registry.cpp has the table.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_KERNELS_H
#define TGPT_RUNTIME_KERNELS_CUDA_KERNELS_H

#include "runtime/kernels/cuda/Device.h"
#include "runtime/kernels/cuda/Registry.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

KernelStatus accumulate(const KernelCall &call);
KernelStatus accumulateTree(const KernelCall &call);
KernelStatus accumulateNodes(const KernelCall &call);
KernelStatus stackNodes(const KernelCall &call);
KernelStatus sumNodes(const KernelCall &call);
KernelStatus adamW(const KernelCall &call);
KernelStatus add(const KernelCall &call);
KernelStatus addN(const KernelCall &call);
KernelStatus adjustLossScale(const KernelCall &call);
KernelStatus attention(const KernelCall &call);
KernelStatus attentionGrad(const KernelCall &call);
KernelStatus cast(const KernelCall &call);
KernelStatus clipScale(const KernelCall &call);
KernelStatus copy(const KernelCall &call);
KernelStatus crossEntropy(const KernelCall &call);
KernelStatus crossEntropyGrad(const KernelCall &call);
KernelStatus divide(const KernelCall &call);
KernelStatus dropout(const KernelCall &call);
KernelStatus embedding(const KernelCall &call);
KernelStatus embeddingGrad(const KernelCall &call);
KernelStatus fill(const KernelCall &call);
KernelStatus gelu(const KernelCall &call);
KernelStatus geluGrad(const KernelCall &call);
KernelStatus headNorm(const KernelCall &call);
KernelStatus headNormGrad(const KernelCall &call);
KernelStatus layerNorm(const KernelCall &call);
KernelStatus layerNormGrad(const KernelCall &call);
KernelStatus linear(const KernelCall &call);
KernelStatus linearDgrad(const KernelCall &call);
KernelStatus linearDgradSum(const KernelCall &call);
KernelStatus linearWgrad(const KernelCall &call);
KernelStatus lossStatistics(const KernelCall &call);
KernelStatus rmsNorm(const KernelCall &call);
KernelStatus rmsNormGrad(const KernelCall &call);
KernelStatus rope(const KernelCall &call);
KernelStatus slice(const KernelCall &call);
KernelStatus sumLeading(const KernelCall &call);
KernelStatus sumPositions(const KernelCall &call);
KernelStatus sumSquares(const KernelCall &call);
KernelStatus swiglu(const KernelCall &call);
KernelStatus swigluGrad(const KernelCall &call);
KernelStatus tokenLoss(const KernelCall &call);

// Bytes of workspace that a call of the kernel needs.
size_t addNWorkspace(const KernelCall &call);
size_t attentionGradWorkspace(const KernelCall &call);
size_t crossEntropyWorkspace(const KernelCall &call);
size_t headNormGradWorkspace(const KernelCall &call);
size_t layerNormGradWorkspace(const KernelCall &call);
size_t rmsNormGradWorkspace(const KernelCall &call);
size_t ropeWorkspace(const KernelCall &call);
size_t sumLeadingWorkspace(const KernelCall &call);
size_t sumPositionsWorkspace(const KernelCall &call);
size_t sumSquaresWorkspace(const KernelCall &call);
size_t tokenLossWorkspace(const KernelCall &call);

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_KERNELS_H
