//===- KernelTime.cpp - how long a kernel takes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/KernelTime.h"
#include <algorithm>

using namespace tgpt::cost;

/// Operations a second of a kernel of this kind and size.
static double flopsPerSecond(const DeviceProfile &device, const KernelFacts &kernel) {
  switch (kernel.kind) {
  case KernelKind::MatrixProduct:
    return device.matrixFlopsPerSecond[kernel.dtype] * device.matrixEfficiency.at(kernel.flops);
  case KernelKind::Attention:
    return device.matrixFlopsPerSecond[kernel.dtype] * device.attentionEfficiency.at(kernel.flops);
  case KernelKind::Vector: break;
  }
  return device.vectorFlopsPerSecond[kernel.dtype];
}

double tgpt::cost::kernelSeconds(const DeviceProfile &device, const KernelFacts &kernel) {
  double bytes = kernel.bytesRead + kernel.bytesWritten;
  double computing = kernel.flops > 0 ? kernel.flops / flopsPerSecond(device, kernel) : 0;
  double moving = bytes > 0 ? bytes / (device.memoryBytesPerSecond * device.memoryEfficiency.at(bytes)) : 0;
  return device.kernelLaunchSeconds + std::max(computing, moving);
}
