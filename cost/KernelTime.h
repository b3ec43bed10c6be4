//===- KernelTime.h - how long a kernel takes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roofline: a kernel takes its launch, then as long as its operations or its bytes
// take, whichever is longer. One source of kernel times for the stage splitter, the
// planner and the simulator.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_KERNELTIME_H
#define TGPT_COST_KERNELTIME_H

#include "cost/DeviceProfile.h"

namespace tgpt::cost {

/// What the operations of a kernel are: which peak bounds them and how near they come.
enum class KernelKind {
  Vector,        ///< element by element, reductions
  MatrixProduct, ///< one product of two matrices
  Attention      ///< products fused with a softmax
};

/// What a kernel's time follows from.
struct KernelFacts {
  double flops = 0;
  double bytesRead = 0;
  double bytesWritten = 0;
  Dtype dtype = Dtype::F32;
  KernelKind kind = KernelKind::Vector;
};

double kernelSeconds(const DeviceProfile &device, const KernelFacts &kernel);

} // namespace tgpt::cost

#endif // TGPT_COST_KERNELTIME_H
