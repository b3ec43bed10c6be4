//===- KernelSamples.cpp - the time of kernel calls, as a step makes them -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/KernelSamples.h"

#include "runtime/kernels/api/Registry.h"
#include "runtime/kernels/api/ThreadClock.h"
#include "runtime/kernels/bench/CallOperands.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <omp.h>
#include <thread>
#include <vector>

using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;

/// Of the sets of operands together: more than a core's second-level cache has.
static constexpr double leastBytes = 4 << 20;
static constexpr int mostSets = 128;
/// Shorter stretches than this are not told from the clock's own time.
static constexpr double leastStretchSeconds = 50e-6;

namespace {
/// A call on changing operands.
class Turns {
public:
  Turns(const Workload &workload, const Kernel &kernel) : kernel(kernel) {
    int count = static_cast<int>(std::clamp(std::ceil(leastBytes / workload.bytes()), 1.0, double(mostSets)));
    for (int i = 0; i < count; ++i)
      sets.emplace_back(workload);
  }

  double secondsOf(int calls) {
    double begin = threadCpuSeconds();
    for (int i = 0; i < calls; ++i) {
      KernelStatus status = kernel.function(sets[next].call());
      if (!status.ok())
        throw Error(status.error);
      next = (next + 1) % sets.size();
    }
    return threadCpuSeconds() - begin;
  }
  size_t count() const { return sets.size(); }
  KernelCall call() const { return sets.front().call(); }

private:
  const Kernel &kernel;
  std::deque<CallOperands> sets;
  size_t next = 0;
};
} // namespace

std::vector<double> tgpt::runtime::calibration::kernelSeconds(const Workload &workload, const SampleBudget &budget) {
  omp_set_num_threads(1);
  const Kernel *kernel = findKernel(KernelBackend::Cpu, workload.kernel);
  if (!kernel)
    throw Error("there is no cpu kernel '" + workload.kernel + "' to measure");
  Turns turns(workload, *kernel);
  if (std::string wrong = kernel->check(turns.call()); !wrong.empty())
    throw Error(workload.kernel + ": " + wrong);
  turns.secondsOf(static_cast<int>(turns.count())); // warm-up: pages, and code that oneDNN makes
  double once = std::max(turns.secondsOf(2) / 2, 1e-9);
  int calls = static_cast<int>(std::clamp(std::ceil(leastStretchSeconds / once), 1.0, 1e5));
  std::vector<double> seconds;
  for (double total = 0; static_cast<int>(seconds.size()) < budget.least ||
                         (static_cast<int>(seconds.size()) < budget.most && total < budget.seconds);) {
    double stretch = turns.secondsOf(calls);
    total += stretch;
    seconds.push_back(stretch / calls);
  }
  return seconds;
}

Sample tgpt::runtime::calibration::sampleKernel(const Workload &workload, const SampleBudget &budget) {
  return sampleOf(kernelSeconds(workload, budget));
}

Sample tgpt::runtime::calibration::sampleKernelBeside(const Workload &workload, int64_t others,
                                                      const SampleBudget &budget) {
  const Kernel *kernel = findKernel(KernelBackend::Cpu, workload.kernel);
  std::atomic<bool> isDone = false;
  std::atomic<int64_t> begun = 0;
  std::vector<std::jthread> threads;
  for (int64_t i = 0; kernel && i < others; ++i)
    threads.emplace_back([&] {
      omp_set_num_threads(1);
      Turns turns(workload, *kernel);
      turns.secondsOf(1);
      for (++begun; !isDone;)
        turns.secondsOf(1);
    });
  while (begun < static_cast<int64_t>(threads.size()))
    std::this_thread::yield();
  struct Stop {
    std::atomic<bool> &flag;
    ~Stop() { flag = true; }
  } stop{isDone}; // before the threads are joined
  return sampleKernel(workload, budget);
}
