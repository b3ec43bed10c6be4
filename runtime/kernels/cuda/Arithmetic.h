//===- Arithmetic.h - elements and vectors of them on the device *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ARITHMETIC_H
#define TGPT_RUNTIME_KERNELS_CUDA_ARITHMETIC_H

#include "runtime/kernels/api/TypeDispatch.h"
#include "runtime/kernels/cuda/Device.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

__device__ __forceinline__ double load(double x) {
  return x;
}
__device__ __forceinline__ float load(float x) {
  return x;
}

#ifdef __CUDACC__
__device__ __forceinline__ float load(BFloat16 x) {
  return __uint_as_float(uint32_t(x.bits) << 16);
}
__device__ __forceinline__ float load(Float16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
__device__ __forceinline__ void convert(float x, BFloat16 &to) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
}
__device__ __forceinline__ void convert(float x, Float16 &to) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
}
/// Towards zero, the last bit set where anything was lost: rounding that rounds once.
__device__ __forceinline__ float narrowToOdd(double x) {
  float toZero = __double2float_rz(x);
  bool isInexact = double(toZero) != x && x == x;
  return isInexact ? __uint_as_float(__float_as_uint(toZero) | 1u) : toZero;
}
__device__ __forceinline__ void convert(double x, BFloat16 &to) {
  convert(narrowToOdd(x), to);
}
__device__ __forceinline__ void convert(double x, Float16 &to) {
  convert(narrowToOdd(x), to);
}
#else
inline float load(BFloat16 x) {
  return toFloat(x);
}
inline float load(Float16 x) {
  return toFloat(x);
}
template <typename A> void convert(A x, BFloat16 &to) {
  to = toBFloat16(x);
}
template <typename A> void convert(A x, Float16 &to) {
  to = toFloat16(x);
}
#endif

#ifdef __CUDACC__
__device__ __forceinline__ float roundedProduct(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double roundedProduct(double a, double b) {
  return __dmul_rn(a, b);
}
#else
/// a * b, never one operation with the addition that it goes into: lanes that exchange products
/// and add them must round alike.
template <typename A> A roundedProduct(A a, A b) {
  return a * b;
}
#endif

template <typename A> __device__ __forceinline__ void convert(A x, float &to) {
  to = float(x);
}
template <typename A> __device__ __forceinline__ void convert(A x, double &to) {
  to = double(x);
}
/// NaN becomes 0, values beyond i32 its nearest end.
template <typename A> __device__ __forceinline__ void convert(A x, int32_t &to) {
  double rounded = std::rint(double(x));
  rounded = rounded < -2147483648.0 ? -2147483648.0 : rounded > 2147483647.0 ? 2147483647.0 : rounded;
  to = x != x ? 0 : int32_t(rounded);
}

/// Rounded once to nearest even.
template <typename T> __device__ __forceinline__ T store(AccumulatorOf<T> x) {
  T to;
  convert(x, to);
  return to;
}

/// N elements that are read and written as one.
template <typename T, int N> struct alignas(N * sizeof(T) > 16 ? 16 : N * sizeof(T)) Pack { T at[N]; };

template <int N, typename T> __device__ __forceinline__ Pack<T, N> loadPack(const T *from TGPT_HERE) {
  using P = Pack<T, N>;
#ifdef __CUDACC__
  return *reinterpret_cast<const P *>(from);
#else
  emulation::checkAligned(from, alignof(P), site);
  P pack;
  std::memcpy(static_cast<void *>(&pack), from, sizeof(P));
  return pack;
#endif
}
template <int N, typename T> __device__ __forceinline__ void storePack(T *to, const Pack<T, N> &pack TGPT_HERE) {
  using P = Pack<T, N>;
#ifdef __CUDACC__
  *reinterpret_cast<P *>(to) = pack;
#else
  emulation::checkAligned(to, alignof(P), site);
  std::memcpy(static_cast<void *>(to), &pack, sizeof(P));
#endif
}

/// Elements of T in 16 bytes.
template <typename T> inline constexpr int vectorOf = int(16 / sizeof(T));

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ARITHMETIC_H
