//===- ShapeChecks.h - the shape check of every kernel ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by all backends. Operands as in KERNELS.md.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_SHAPECHECKS_H
#define TGPT_RUNTIME_KERNELS_API_SHAPECHECKS_H

#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime {

// LinearChecks.cpp
std::string checkLinear(const KernelCall &call);
std::string checkLinearDgrad(const KernelCall &call);
std::string checkLinearDgradSum(const KernelCall &call);
std::string checkLinearWgrad(const KernelCall &call);
std::string checkSumLeading(const KernelCall &call);
std::string checkSumPositions(const KernelCall &call);

// NormChecks.cpp
std::string checkRmsNorm(const KernelCall &call);
std::string checkRmsNormGrad(const KernelCall &call);
std::string checkHeadNorm(const KernelCall &call);
std::string checkHeadNormGrad(const KernelCall &call);
std::string checkLayerNorm(const KernelCall &call);
std::string checkLayerNormGrad(const KernelCall &call);

// AttentionChecks.cpp
std::string checkRope(const KernelCall &call);
std::string checkAttention(const KernelCall &call);
std::string checkAttentionGrad(const KernelCall &call);

// ElementwiseChecks.cpp
std::string checkGelu(const KernelCall &call);
std::string checkGeluGrad(const KernelCall &call);
std::string checkSwiglu(const KernelCall &call);
std::string checkSwigluGrad(const KernelCall &call);
std::string checkAdd(const KernelCall &call);
std::string checkAddN(const KernelCall &call);
std::string checkDropout(const KernelCall &call);

// TokenChecks.cpp: what reads ids or labels
std::string checkEmbedding(const KernelCall &call);
std::string checkEmbeddingGrad(const KernelCall &call);
std::string checkCrossEntropy(const KernelCall &call);
std::string checkCrossEntropyGrad(const KernelCall &call);
std::string checkLossStatistics(const KernelCall &call);
std::string checkTokenLoss(const KernelCall &call);

// OptimizerChecks.cpp
std::string checkSumSquares(const KernelCall &call);
std::string checkClipScale(const KernelCall &call);
std::string checkAdjustLossScale(const KernelCall &call);
std::string checkAdamW(const KernelCall &call);
std::string checkDivide(const KernelCall &call);

// MovementChecks.cpp
std::string checkCast(const KernelCall &call);
std::string checkFill(const KernelCall &call);
std::string checkCopy(const KernelCall &call);
std::string checkAccumulate(const KernelCall &call);
std::string checkAccumulateTree(const KernelCall &call);
std::string checkAccumulateNodes(const KernelCall &call);
std::string checkStackNodes(const KernelCall &call);
std::string checkSumNodes(const KernelCall &call);
std::string checkSlice(const KernelCall &call);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_SHAPECHECKS_H
