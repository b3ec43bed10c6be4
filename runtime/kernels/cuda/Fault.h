//===- Fault.h - what data does wrong, seen on the device -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_FAULT_H
#define TGPT_RUNTIME_KERNELS_CUDA_FAULT_H

#include "runtime/kernels/cuda/Device.h"
#include "runtime/kernels/cuda/Queue.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// Leaves the fault unless there is one already.
__device__ inline void raise(int32_t *word, Fault fault) {
#ifdef __CUDACC__
  atomicCAS(word, int32_t(Fault::None), int32_t(fault));
#else
  if (*word == int32_t(Fault::None))
    *word = int32_t(fault);
#endif
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_FAULT_H
