//===- Measure.h - the time of a kernel call --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_BENCH_MEASURE_H
#define TGPT_RUNTIME_KERNELS_BENCH_MEASURE_H

#include "runtime/kernels/api/Registry.h"
#include "runtime/kernels/bench/Workloads.h"

namespace tgpt::runtime {

/// Best time of one call over about `budgetSeconds` of repetitions, after a warm-up.
/// Throws Error where the kernel refuses the call.
double measureSeconds(const Workload &workload, const Kernel &kernel, double budgetSeconds);

/// Best rate of large matrix products (1024^3) on the calling thread's OpenMP setting.
double measureGemmPeakFlopsPerSecond(DType compute);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_BENCH_MEASURE_H
