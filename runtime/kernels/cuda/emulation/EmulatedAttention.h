//===- EmulatedAttention.h - what cuDNN does, on the host -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A provider of attention (cudnn/AttentionKernels.h) that computes what a problem's layouts
// say, head by head, and rounds where cuDNN may: probabilities, gradients of scores, and with
// grouped heads each query head's share of the gradients of k and v, to the storage type.
// Gradients of scores, and these shares, are kept in its memory.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDATTENTION_H
#define TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDATTENTION_H

#include "runtime/kernels/cuda/Registry.h"
#include "runtime/kernels/cuda/cudnn/AttentionProblem.h"

namespace tgpt::runtime::cuda::emulated {

/// Operands of bf16 or f16; `memory` is libraryWorkspaceBytes, as of a device that keeps scores.
KernelStatus attend(const AttentionProblem &problem, void *memory);

/// productTable() with attention by this library or by our kernels, as options say.
std::span<const DeviceKernel> attentionTable();

} // namespace tgpt::runtime::cuda::emulated

#endif // TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATEDATTENTION_H
