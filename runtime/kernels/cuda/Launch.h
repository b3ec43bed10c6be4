//===- Launch.h - running a kernel on a queue -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_LAUNCH_H
#define TGPT_RUNTIME_KERNELS_CUDA_LAUNCH_H

#include "runtime/kernels/cuda/Device.h"
#include "runtime/kernels/cuda/Queue.h"

#include <algorithm>

namespace tgpt::runtime::cuda::TGPT_TARGET {

#ifndef __CUDACC__
using emulation::Site;
constexpr Site whereFrom(Site site = emulation::here()) {
  return site;
}
#endif

/// Blocks, threads of a block, and bytes of dynamic shared memory.
struct LaunchShape {
#ifdef __CUDACC__
  LaunchShape(dim3 grid, dim3 block, size_t sharedBytes = 0) : grid(grid), block(block), sharedBytes(sharedBytes) {}
#else
  LaunchShape(dim3 grid, dim3 block, size_t sharedBytes = 0, Site site = emulation::here())
      : grid(grid), block(block), sharedBytes(sharedBytes), site(site) {}
#endif
  dim3 grid, block;
  size_t sharedBytes;
#ifndef __CUDACC__
  Site site;
#endif
};

/// What a launch may have of dynamic shared memory without asking.
inline constexpr size_t freeSharedBytes = 48 << 10;

/// kernel<<<shape, stream of this thread's queue>>>(arguments).
template <typename... Parameters, typename... Arguments>
KernelStatus launch(const LaunchShape &shape, void (*kernel)(Parameters...), const Arguments &...arguments) {
#ifdef __CUDACC__
  if (shape.sharedBytes > freeSharedBytes) {
    cudaError_t status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shape.sharedBytes));
    if (status != cudaSuccess)
      return {cudaGetErrorString(status)};
  }
  kernel<<<shape.grid, shape.block, shape.sharedBytes, static_cast<cudaStream_t>(queue().stream)>>>(arguments...);
  cudaError_t status = cudaGetLastError();
  return {status == cudaSuccess ? nullptr : cudaGetErrorString(status)};
#else
  auto call = [&] { kernel(Parameters(arguments)...); };
  using Call = decltype(call);
  return {emulation::run(shape.grid, shape.block, shape.sharedBytes, shape.site,
                         {[](const void *object) { (*static_cast<const Call *>(object))(); }, &call})};
#endif
}

/// The first of several launches that failed; later ones are not made.
class Launches {
public:
  template <typename... Parameters, typename... Arguments>
  Launches &then(const LaunchShape &shape, void (*kernel)(Parameters...), const Arguments &...arguments) {
    if (status.ok())
      status = launch(shape, kernel, arguments...);
    return *this;
  }
  operator KernelStatus() const { return status; }

private:
  KernelStatus status;
};

inline int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Whether a vector of 16 bytes may be read at each of these addresses.
template <typename... Pointers> bool areAligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_LAUNCH_H
