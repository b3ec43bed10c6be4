//===- Stopwatch.h - the time of work on a stream ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_STOPWATCH_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_STOPWATCH_H

#include "runtime/kernels/cuda/cublaslt/LibraryProblem.h"

#include <optional>

namespace tgpt::runtime::cuda {

/// Time between two points of a stream.
struct Stopwatch {
  explicit Stopwatch(Calls &calls) : calls(calls) {
    calls.then("cudaEventCreate", cudaEventCreateWithFlags, &begin, cudaEventDefault);
    calls.then("cudaEventCreate", cudaEventCreateWithFlags, &end, cudaEventDefault);
  }
  Stopwatch(const Stopwatch &) = delete;
  ~Stopwatch() {
    for (cudaEvent_t event : {begin, end})
      if (event)
        cudaEventDestroy(event);
  }
  /// work(calls) enqueues; nothing where it or a measurement fails.
  template <typename Work> std::optional<double> seconds(cudaStream_t stream, Work work) {
    Calls own;
    float milliseconds = 0;
    calls.then("cudaEventRecord", cudaEventRecord, begin, stream);
    work(own);
    calls.then("cudaEventRecord", cudaEventRecord, end, stream);
    calls.then("cudaEventSynchronize", cudaEventSynchronize, end);
    calls.then("cudaEventElapsedTime", cudaEventElapsedTime, &milliseconds, begin, end);
    return own.ok() && calls.ok() ? std::optional<double>(milliseconds * 1e-3) : std::nullopt;
  }
  Calls &calls;
  cudaEvent_t begin = nullptr, end = nullptr;
};

/// Nothing can be timed then; also where the stream cannot be asked.
inline bool isCapturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
}

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_STOPWATCH_H
