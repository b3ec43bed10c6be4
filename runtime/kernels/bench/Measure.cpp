//===- Measure.cpp - the time of a kernel call ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/bench/Measure.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <omp.h>

using namespace tgpt::runtime;

namespace {
/// Memory for one operand, with values that no kernel minds: reals in [0.25, 0.5), ids below 16.
class Buffer {
public:
  explicit Buffer(const OperandShape &operand, size_t index) {
    view.dtype = operand.dtype;
    view.rank = uint8_t(operand.shape.size());
    std::copy(operand.shape.begin(), operand.shape.end(), view.shape.begin());
    // Bases that agree in their low 12 address bits would alias in the first-level cache.
    size_t offset = 576 * (index + 1);
    memory.reset(static_cast<char *>(std::aligned_alloc(4096, (view.bytes() + offset + 4095) / 4096 * 4096)));
    if (!memory)
      throw Error("no memory for an operand of " + std::to_string(view.bytes()) + " bytes");
    view.data = memory.get() + offset;
    fill();
  }
  TensorView view;

private:
  void fill() {
    for (int64_t i = 0; i < view.elements(); ++i) {
      double value = 0.25 + double(i % 61) / 256;
      switch (view.dtype) {
      case DType::F64: view.as<double>()[i] = value; break;
      case DType::F32: view.as<float>()[i] = float(value); break;
      case DType::BF16: view.as<BFloat16>()[i] = toBFloat16(value); break;
      case DType::F16: view.as<Float16>()[i] = toFloat16(value); break;
      case DType::I32: view.as<int32_t>()[i] = int32_t(i * 7 % 16); break;
      }
    }
  }
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
};
} // namespace

/// On one thread its CPU time, which other processes disturb less; else wall time.
static double now() {
  if (omp_get_max_threads() > 1)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
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
  std::vector<Buffer> buffers;
  std::vector<TensorView> inputs, outputs;
  for (const OperandShape &operand : workload.inputs)
    inputs.push_back(buffers.emplace_back(operand, buffers.size()).view);
  for (const OperandShape &operand : workload.outputs)
    outputs.push_back(buffers.emplace_back(operand, buffers.size()).view);
  KernelCall call{inputs, outputs, &workload.attributes};
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
