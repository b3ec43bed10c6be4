//===- EmulatedBuilds.h - device kernels as a build -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CUDA_EMULATEDBUILDS_H
#define TGPT_TEST_UNIT_KERNELS_CUDA_EMULATEDBUILDS_H

#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/Registry.h"
#include "runtime/kernels/cuda/emulation/Emulator.h"

namespace tgpt::test {

/// Runs a device kernel to its end: with a workspace of just the bytes it asks for, which
/// hold NaN, and guard bytes behind. A fault that the data raised is an error.
runtime::KernelStatus runEmulated(const runtime::cuda::DeviceKernel &kernel, emulation::Order order,
                                  const runtime::KernelCall &call);

/// Makes a workspace of `bytes` and a word for faults this thread's queue; at its end the queue is none.
class EmulatedQueue {
public:
  explicit EmulatedQueue(size_t bytes);
  EmulatedQueue(const EmulatedQueue &) = delete;
  ~EmulatedQueue();
  /// The status, or what the call did wrong beside its operands.
  runtime::KernelStatus judge(runtime::KernelStatus status) const;

private:
  unsigned char *workspace;
  size_t bytes;
  int32_t fault = 0;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CUDA_EMULATEDBUILDS_H
