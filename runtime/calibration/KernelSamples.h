//===- KernelSamples.h - the time of kernel calls, as a step makes them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step calls a kernel on operands that other kernels have used since, so a call is
// measured on several sets of operands in turn, together larger than a core's own caches.
// On one thread, in its CPU time: what other processes take away is no part of a machine.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CALIBRATION_KERNELSAMPLES_H
#define TGPT_RUNTIME_CALIBRATION_KERNELSAMPLES_H

#include "runtime/calibration/Sample.h"
#include "runtime/kernels/bench/Workloads.h"

namespace tgpt::runtime::calibration {

/// Seconds of a call of a cpu kernel in each of some stretches of calls, on the calling thread alone. Throws Error
/// where the kernel refuses it.
std::vector<double> kernelSeconds(const Workload &workload, const SampleBudget &budget);
/// Their median.
Sample sampleKernel(const Workload &workload, const SampleBudget &budget);
/// The same while so many other threads do such calls as well, each on operands of its own.
Sample sampleKernelBeside(const Workload &workload, int64_t others, const SampleBudget &budget);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_KERNELSAMPLES_H
