//===- Device.h - CUDA C++, by nvcc or by emulation -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels use of the device. nvcc builds them for GPUs (namespace device), the
// host's compiler for emulation/ (namespace emulated): the same sources.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_DEVICE_H
#define TGPT_RUNTIME_KERNELS_CUDA_DEVICE_H

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define TGPT_TARGET device

#include <cuda_runtime.h>

/// `name`: a __shared__ array of `count` elements of `type`.
#define TGPT_SHARED(type, name, count) __shared__ __align__(16) type name[count]
/// `name`: all of the launch's dynamic shared memory, as elements of `type`.
#define TGPT_DYNAMIC_SHARED(type, name)                                                                                \
  extern __shared__ __align__(16) unsigned char tgptDynamicShared[];                                                   \
  type *name = reinterpret_cast<type *>(tgptDynamicShared)
#define TGPT_UNROLL _Pragma("unroll")
#define TGPT_HERE

namespace tgpt::runtime::cuda::device {

template <typename T> using Shared = T *;

template <typename T> __device__ __forceinline__ Shared<T> sharedPart(Shared<T> of, int64_t first, int64_t) {
  return of + first;
}
template <typename T> __device__ __forceinline__ T *sharedAt(T *of, int64_t i, int64_t) {
  return of + i;
}
__device__ __forceinline__ void checkAligned(const void *, size_t) {}
template <typename T> __device__ __forceinline__ T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

} // namespace tgpt::runtime::cuda::device

#else
#define TGPT_TARGET emulated

#include "runtime/kernels/cuda/emulation/Emulator.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define threadIdx (::tgpt::emulation::coordinates->thread)
#define blockIdx (::tgpt::emulation::coordinates->block)
#define blockDim (::tgpt::emulation::coordinates->blockSize)
#define gridDim (::tgpt::emulation::coordinates->gridSize)
#define __syncthreads() ::tgpt::emulation::syncThreads()
#define __syncwarp(...) ::tgpt::emulation::syncWarp(__VA_ARGS__)
#define __nanosleep(nanoseconds) ::tgpt::emulation::yield()

#define TGPT_SHARED(type, name, count)                                                                                 \
  static ::tgpt::emulation::SharedArray<type, count> name##Storage;                                                    \
  ::tgpt::emulation::SharedView<type> name = name##Storage.view(::tgpt::emulation::here())
#define TGPT_DYNAMIC_SHARED(type, name)                                                                                \
  ::tgpt::emulation::SharedView<type> name(static_cast<type *>(::tgpt::emulation::dynamicShared()),                    \
                                           int64_t(::tgpt::emulation::dynamicSharedBytes() / sizeof(type)),            \
                                           ::tgpt::emulation::here())
#define TGPT_UNROLL
#define TGPT_HERE , ::tgpt::emulation::Site site = ::tgpt::emulation::here()

using dim3 = tgpt::emulation::Dim3;

namespace tgpt::runtime::cuda::emulated {

template <typename T> using Shared = emulation::SharedView<T>;

template <typename T> Shared<T> sharedPart(Shared<T> of, int64_t first, int64_t count) {
  return of.part(first, count);
}
template <typename T> T *sharedAt(Shared<T> of, int64_t i, int64_t count) {
  return of.at(i, count);
}
inline void checkAligned(const void *address, size_t bytes, emulation::Site site = emulation::here()) {
  emulation::checkAligned(address, bytes, site);
}
template <typename T> T shuffleXor(T value, int mask, emulation::Site site = emulation::here()) {
  return emulation::shuffle(emulation::Exchange::Xor, 0xffffffffu, value, mask, 32, site);
}

} // namespace tgpt::runtime::cuda::emulated

/// As in CUDA C++.
template <typename T>
T __shfl_down_sync(uint32_t mask, T value, unsigned delta, int width = 32,
                   tgpt::emulation::Site site = tgpt::emulation::here()) {
  return tgpt::emulation::shuffle(tgpt::emulation::Exchange::Down, mask, value, int(delta), width, site);
}
template <typename T>
T __shfl_up_sync(uint32_t mask, T value, unsigned delta, int width = 32,
                 tgpt::emulation::Site site = tgpt::emulation::here()) {
  return tgpt::emulation::shuffle(tgpt::emulation::Exchange::Up, mask, value, int(delta), width, site);
}
template <typename T>
T __shfl_xor_sync(uint32_t mask, T value, int laneMask, int width = 32,
                  tgpt::emulation::Site site = tgpt::emulation::here()) {
  return tgpt::emulation::shuffle(tgpt::emulation::Exchange::Xor, mask, value, laneMask, width, site);
}
template <typename T>
T __shfl_sync(uint32_t mask, T value, int lane, int width = 32, tgpt::emulation::Site site = tgpt::emulation::here()) {
  return tgpt::emulation::shuffle(tgpt::emulation::Exchange::Index, mask, value, lane, width, site);
}
inline uint32_t __ballot_sync(uint32_t mask, bool predicate, tgpt::emulation::Site site = tgpt::emulation::here()) {
  return uint32_t(tgpt::emulation::exchange(tgpt::emulation::Exchange::Ballot, mask, predicate, 0, 32, site));
}
inline int __popc(uint32_t bits) {
  return __builtin_popcount(bits);
}
template <typename T> T __ldg(const T *address) {
  return *address;
}
#endif

#endif // TGPT_RUNTIME_KERNELS_CUDA_DEVICE_H
