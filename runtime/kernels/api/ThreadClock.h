//===- ThreadClock.h - the processor time of a thread ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_THREADCLOCK_H
#define TGPT_RUNTIME_KERNELS_API_THREADCLOCK_H

#include <ctime>

namespace tgpt::runtime {

/// Processor time of the calling thread: what other processes take away is no part of it.
inline double threadCpuSeconds() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_THREADCLOCK_H
