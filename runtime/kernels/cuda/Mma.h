//===- Mma.h - products of small matrices by a warp ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync.m16n8k16 for bf16 and f16 with sums in f32, and how its operands come from
// shared memory. A warp, threads of a block in one dimension, holds a matrix in parts
// (PTX ISA, "Matrix Fragments for mma.m16n8k16"); with (g, t) = (lane / 4, lane % 4):
//
//   A 16 x 16   at[i]: row g + 8 (i % 2), columns 2 t + 8 (i / 2) and the next one
//   B 16 x 8    at[i]: rows 2 t + 8 i and the next one, column g
//   C 16 x 8    at[i]: row g + 8 (i / 2), column 2 t + i % 2
//
// In emulation lanes lay their parts on a table, and each computes its elements of C with
// products and sums in f32, in the order of the columns of A.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_MMA_H
#define TGPT_RUNTIME_KERNELS_CUDA_MMA_H

#include "runtime/kernels/cuda/Arithmetic.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// Whether tensor cores multiply T without loss.
template <typename T> inline constexpr bool hasMma = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

struct FragmentA {
  uint32_t at[4];
};
struct FragmentB {
  uint32_t at[2];
};
struct FragmentC {
  float at[4];
};

#ifdef __CUDACC__

__device__ __forceinline__ uint32_t sharedAddress(const void *address) {
  return uint32_t(__cvta_generic_to_shared(address));
}

/// Two elements, the first one in the low half.
template <typename T> __device__ __forceinline__ uint32_t packPair(float first, float second) {
  uint32_t pair;
  if constexpr (std::is_same_v<T, BFloat16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

/// c += a b.
template <typename T> __device__ __forceinline__ void mma(FragmentC &c, const FragmentA &a, const FragmentB &b) {
  if constexpr (std::is_same_v<T, BFloat16>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
                 : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
                 : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
}

/// A = rows [row, row + 16), columns [column, column + 16) of a tile.
template <typename T>
__device__ __forceinline__ void loadA(Shared<T> tile, int stride, int row, int column, FragmentA &a) {
  int lane = int(threadIdx.x) % 32;
  uint32_t from = sharedAddress(tile + (row + lane % 16) * stride + column + lane / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a.at[0]), "=r"(a.at[1]), "=r"(a.at[2]), "=r"(a.at[3])
               : "r"(from)
               : "memory");
}

/// Two B side by side, 16 x 16, whose transpose lies at [row, row + 16) x [column, column + 16).
template <typename T>
__device__ __forceinline__ void loadB(Shared<T> tile, int stride, int row, int column, FragmentB (&b)[2]) {
  int lane = int(threadIdx.x) % 32;
  uint32_t from = sharedAddress(tile + (row + lane / 16 * 8 + lane % 8) * stride + column + lane / 8 % 2 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(b[0].at[0]), "=r"(b[0].at[1]), "=r"(b[1].at[0]), "=r"(b[1].at[1])
               : "r"(from)
               : "memory");
}

/// Two B side by side that lie at [row, row + 16) x [column, column + 16).
template <typename T>
__device__ __forceinline__ void loadBOfRows(Shared<T> tile, int stride, int row, int column, FragmentB (&b)[2]) {
  int lane = int(threadIdx.x) % 32;
  uint32_t from = sharedAddress(tile + (row + lane % 16) * stride + column + lane / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(b[0].at[0]), "=r"(b[0].at[1]), "=r"(b[1].at[0]), "=r"(b[1].at[1])
               : "r"(from)
               : "memory");
}

/// 16 bytes to shared memory, zeros unless `isInside`; there after commitCopies and waitForCopies.
__device__ __forceinline__ void copyAsync(void *to, const void *from, bool isInside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)), "l"(from),
               "r"(isInside ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

template <typename T> uint32_t packPair(float first, float second) {
  T pair[2] = {store<T>(first), store<T>(second)};
  uint32_t bits;
  std::memcpy(&bits, pair, sizeof(bits));
  return bits;
}

/// The two elements of a register.
template <typename T> void unpack(uint32_t pair, float &first, float &second) {
  T elements[2];
  std::memcpy(static_cast<void *>(elements), &pair, sizeof(pair));
  first = load(elements[0]);
  second = load(elements[1]);
}

template <typename T> void mma(FragmentC &c, const FragmentA &a, const FragmentB &b TGPT_HERE) {
  static struct {
    float a[16][16], b[8][16]; // b transposed
  } table[32];                 // of each warp of the block that runs
  int lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  auto &own = table[threadIdx.x / 32];
  for (int i = 0; i < 4; ++i) {
    float *to = &own.a[g + i % 2 * 8][2 * t + i / 2 * 8];
    unpack<T>(a.at[i], to[0], to[1]);
  }
  for (int i = 0; i < 2; ++i) {
    float *to = &own.b[g][2 * t + 8 * i];
    unpack<T>(b.at[i], to[0], to[1]);
  }
  emulation::syncWarp(0xffffffffu, site);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 16; ++k)
      c.at[i] += own.a[g + i / 2 * 8][k] * own.b[2 * t + i % 2][k];
  emulation::syncWarp(0xffffffffu, site); // the table is free for the next product
}

/// Of the two elements from tile[row][column] on.
template <typename T> uint32_t pairAt(Shared<T> tile, int stride, int row, int column) {
  uint32_t bits;
  std::memcpy(&bits, tile.at(int64_t(row) * stride + column, 2), sizeof(bits));
  return bits;
}

template <typename T> void loadA(Shared<T> tile, int stride, int row, int column, FragmentA &a) {
  int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i)
    a.at[i] = pairAt<T>(tile, stride, row + g + i % 2 * 8, column + 2 * t + i / 2 * 8);
}

template <typename T> void loadB(Shared<T> tile, int stride, int row, int column, FragmentB (&b)[2]) {
  int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i)
    b[i / 2].at[i % 2] = pairAt<T>(tile, stride, row + g + i / 2 * 8, column + 2 * t + i % 2 * 8);
}

template <typename T> void loadBOfRows(Shared<T> tile, int stride, int row, int column, FragmentB (&b)[2]) {
  int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i) {
    int64_t at = int64_t(row + 2 * t + i % 2 * 8) * stride + column + g + i / 2 * 8;
    b[i / 2].at[i % 2] = packPair<T>(load(tile[at]), load(tile[at + stride]));
  }
}

inline void copyAsync(void *to, const void *from, bool isInside TGPT_HERE) {
  emulation::checkAligned(to, 16, site);
  emulation::checkAligned(from, 16, site);
  if (isInside)
    std::memcpy(to, from, 16);
  else
    std::memset(to, 0, 16);
}
inline void waitForCopies() {}

#endif

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_MMA_H
