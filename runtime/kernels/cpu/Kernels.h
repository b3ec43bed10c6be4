//===- Kernels.h - the cpu kernels, once per instruction set ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TGPT_ISA names the namespace of this build of the folder: v2, v3, v4 (the
// x86-64 levels) or portable. Each build has a table of its own; ../Registry.cpp
// picks one at run time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_KERNELS_H
#define TGPT_RUNTIME_KERNELS_CPU_KERNELS_H

#include "runtime/kernels/api/Registry.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

std::span<const KernelEntry> kernelTable();

KernelStatus embedding(const KernelCall &call);
KernelStatus embeddingGrad(const KernelCall &call);
KernelStatus linear(const KernelCall &call);
KernelStatus linearDgrad(const KernelCall &call);
KernelStatus linearDgradSum(const KernelCall &call);
KernelStatus linearWgrad(const KernelCall &call);
KernelStatus sumLeading(const KernelCall &call);
KernelStatus sumPositions(const KernelCall &call);
KernelStatus rmsNorm(const KernelCall &call);
KernelStatus rmsNormGrad(const KernelCall &call);
KernelStatus headNorm(const KernelCall &call);
KernelStatus headNormGrad(const KernelCall &call);
KernelStatus layerNorm(const KernelCall &call);
KernelStatus layerNormGrad(const KernelCall &call);
KernelStatus rope(const KernelCall &call);
KernelStatus attention(const KernelCall &call);
KernelStatus attentionGrad(const KernelCall &call);
KernelStatus gelu(const KernelCall &call);
KernelStatus geluGrad(const KernelCall &call);
KernelStatus swiglu(const KernelCall &call);
KernelStatus swigluGrad(const KernelCall &call);
KernelStatus dropout(const KernelCall &call);
KernelStatus add(const KernelCall &call);
KernelStatus addN(const KernelCall &call);
KernelStatus crossEntropy(const KernelCall &call);
KernelStatus crossEntropyGrad(const KernelCall &call);
KernelStatus rowMax(const KernelCall &call);
KernelStatus rowMean(const KernelCall &call);
KernelStatus softmaxSums(const KernelCall &call);
KernelStatus tokenLoss(const KernelCall &call);
KernelStatus sumSquares(const KernelCall &call);
KernelStatus clipScale(const KernelCall &call);
KernelStatus adjustLossScale(const KernelCall &call);
KernelStatus adamW(const KernelCall &call);
KernelStatus divide(const KernelCall &call);
KernelStatus cast(const KernelCall &call);
KernelStatus fill(const KernelCall &call);
KernelStatus copy(const KernelCall &call);
KernelStatus accumulate(const KernelCall &call);
KernelStatus accumulateTree(const KernelCall &call);
KernelStatus accumulateNodes(const KernelCall &call);
KernelStatus stackNodes(const KernelCall &call);
KernelStatus sumNodes(const KernelCall &call);
KernelStatus slice(const KernelCall &call);

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_KERNELS_H
