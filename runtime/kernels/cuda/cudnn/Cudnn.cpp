//===- Cudnn.cpp - attention through cuDNN ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handle and the plans of each thread, which has one device. What only a GPU can check is
// here and in CudnnPlan::run.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cudnn/Cudnn.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmSearch.h"
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#include "runtime/kernels/cuda/cublaslt/Stopwatch.h"
#include "runtime/kernels/cuda/cudnn/AttentionKernels.h"
#include "runtime/kernels/cuda/cudnn/CudnnPlan.h"

#include <bit>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

namespace {
struct DestroyHandle {
  using pointer = cudnnHandle_t;
  void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
};

/// What a thread keeps; plans go before the handle.
struct Attention {
  std::unique_ptr<cudnnContext, DestroyHandle> handle;
  std::map<std::string, CudnnPlan> plans;
  std::string lastError;

  KernelStatus fail(std::string text) {
    lastError = std::move(text);
    return {lastError.empty() ? nullptr : lastError.c_str()};
  }
};
} // namespace

static thread_local Attention own;

static cudaStream_t stream() {
  return static_cast<cudaStream_t>(queue().stream);
}

/// The algorithm of the gradient for sm_100 and later keeps no scores.
static bool isBeforeBlackwell() {
  int device = 0, major = 0;
  bool isKnown = cudaGetDevice(&device) == cudaSuccess &&
                 cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  return !isKnown || major < 10;
}

namespace {
struct CudnnProvider {
  static std::string version() { return "cudnn " + std::to_string(cudnnGetVersion()); }
  static bool keepsScores() {
    static const bool keeps = isBeforeBlackwell();
    return keeps;
  }

  static KernelStatus open() {
    Calls calls;
    openKeptAlgorithms(calls);
    if (!calls.ok())
      return own.fail(calls.what());
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (!own.handle) {
      cudnnHandle_t created = nullptr;
      status = cudnnCreate(&created);
      own.handle.reset(created);
    }
    if (status == CUDNN_STATUS_SUCCESS)
      status = cudnnSetStream(own.handle.get(), stream());
    return status == CUDNN_STATUS_SUCCESS ? KernelStatus{}
                                          : own.fail(std::string("cuDNN: ") + cudnnGetErrorString(status));
  }

  static const CudnnPlan &planOf(const AttentionProblem &problem) {
    auto [found, isNew] = own.plans.try_emplace(problem.key() + " " + std::to_string(std::bit_cast<uint64_t>(problem.scale)), problem,
                                                libraryWorkspaceBytes(problem, keepsScores()), own.handle.get());
    return found->second;
  }
  static bool supports(const AttentionProblem &problem) { return planOf(problem).isUsable(); }
  static KernelStatus run(const AttentionProblem &problem, void *memory) {
    return own.fail(planOf(problem).run(problem, memory, own.handle.get()));
  }

  static bool mayMeasure() { return !isCapturing(stream()); }
  static std::optional<double> seconds(const std::function<KernelStatus()> &work) {
    Calls calls;
    Stopwatch watch(calls);
    return watch.seconds(stream(), [&](Calls &ofWork) {
      if (KernelStatus status = work(); !status.ok())
        ofWork.fail(status.error);
    });
  }
};
} // namespace

std::span<const DeviceKernel> cuda::cudnnKernelTable() {
  static const std::vector<DeviceKernel> table = AttentionKernels<CudnnProvider, cublasLtKernelTable>::table();
  return table;
}
