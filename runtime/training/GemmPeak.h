//===- runtime/training/GemmPeak.h - how fast this machine multiplies matrices --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_GEMMPEAK_H
#define TGPT_RUNTIME_TRAINING_GEMMPEAK_H

#include "runtime/engine/KernelSet.h"

namespace tgpt::runtime {

/// Best measured rate of the `linear` kernel on one core, in flops per second, on square matrices of `dtype`. In
/// CPU time, so that a busy machine has the peak of a quiet one. Takes a quarter of a second, or two calls where those
/// take longer. 0 when the kernels have no `linear` for this dtype.
double measureCoreGemmFlopsPerSecond(const KernelSet &kernels, DType dtype);

/// Cores this process may run on.
int64_t availableCores();

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_GEMMPEAK_H
