//===- runtime/training/GemmPeak.cpp - how fast this machine multiplies matrices ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/GemmPeak.h"

#include "runtime/engine/Scalar.h"
#include "runtime/kernels/api/ThreadClock.h"

#include <algorithm>
#include <array>
#include <omp.h>
#include <sched.h>
#include <thread>

using namespace tgpt::runtime;

/// Large enough to leave the caches' favour and start-up costs behind, small enough (0.9 Gflop) for many calls.
static constexpr int64_t side = 768;
static constexpr double budgetSeconds = 0.25;

int64_t tgpt::runtime::availableCores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return CPU_COUNT(&cores);
  return std::max(1u, std::thread::hardware_concurrency());
}

static double measureOnThisThread(const KernelSet &kernels, DType dtype) {
  std::vector<std::byte> memory(3 * side * side * sizeInBytes(dtype));
  std::array<TensorView, 3> matrices;
  for (size_t i = 0; i < matrices.size(); ++i)
    matrices[i] = {
        .data = memory.data() + i * side * side * sizeInBytes(dtype), .dtype = dtype, .rank = 2, .shape = {side, side}};
  for (size_t input : {0, 1})
    for (int64_t i = 0; i < side * side; ++i)
      storeElement(matrices[input], 1.0 / static_cast<double>(1 + i % 97), i);

  Attributes attributes;
  KernelCall call{
      .inputs = std::span(matrices).first(2), .outputs = std::span(matrices).last(1), .attributes = &attributes};
  ResolvedKernel linear = kernels.find("linear", call);
  if (!linear.function)
    return 0;
  double best = 0;
  double start = threadCpuSeconds();
  for (int calls = 0; calls < 2 || threadCpuSeconds() - start < budgetSeconds; ++calls) {
    double callStart = threadCpuSeconds();
    if (!linear.function(call).ok())
      return 0;
    best = std::max(best, 2.0 * side * side * side / (threadCpuSeconds() - callStart));
  }
  return best;
}

double tgpt::runtime::measureCoreGemmFlopsPerSecond(const KernelSet &kernels, DType dtype) {
  double best = 0;
  // OpenMP's thread count is a setting of the calling thread: a thread of our own leaves the caller's alone.
  std::thread([&] {
    omp_set_num_threads(1);
    best = measureOnThisThread(kernels, dtype);
  }).join();
  return best;
}
