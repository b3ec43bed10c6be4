//===- Measure.cpp - the time of a kernel call ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/bench/Measure.h"
#include "runtime/kernels/api/ThreadClock.h"
#include "runtime/kernels/bench/CallOperands.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <omp.h>

using namespace tgpt::runtime;

/// On one thread its CPU time, which other processes disturb less; else wall time.
static double now() {
  if (omp_get_max_threads() > 1)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return threadCpuSeconds();
}

static double secondsOf(const Kernel &kernel, const KernelCall &call) {
  double begin = now();
  KernelStatus status = kernel.function(call);
  double end = now();
  if (!status.ok())
    throw Error(status.error);
  return end - begin;
}

double tgpt::runtime::measureSeconds(const Workload &workload, const Kernel &kernel, double budgetSeconds) {
  CallOperands operands(workload);
  KernelCall call = operands.call();
  if (std::string wrong = kernel.check(call); !wrong.empty())
    throw Error(workload.kernel + ": " + wrong);
  secondsOf(kernel, call);
  double best = std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t runs = 0; runs < 3 || total < budgetSeconds; ++runs) {
    double seconds = secondsOf(kernel, call);
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

double tgpt::runtime::measureGemmPeakFlopsPerSecond(DType compute) {
  constexpr int64_t size = 1024;
  OperandShape square{compute, {size, size}};
  Workload product{"linear", "peak", {square, square}, {square}, {}, 2.0 * size * size * size};
  return product.flops / measureSeconds(product, *findKernel(KernelBackend::Cpu, "linear"), 0.3);
}
