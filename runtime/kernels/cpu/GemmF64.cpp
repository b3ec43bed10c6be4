//===- GemmF64.cpp - f64 products -------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[m,n] = or += op(A) op(B) + bias. A block of A and of B is packed into panels
// that the micro-kernel reads in order; a tile of C stays in registers.
// k is cut into blocks of 256 whatever m and n are, and each element of C adds its
// products in the order of k: splitting m or n changes no bit of the result.
// (Serial OpenBLAS is no alternative: two ranks calling at once overwrite each
// other's packing buffer.)
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

#if defined(__AVX512F__)
constexpr int64_t vectorBytes = 64;
#elif defined(__AVX__)
constexpr int64_t vectorBytes = 32;
#else
constexpr int64_t vectorBytes = 16;
#endif
using Vector = double __attribute__((vector_size(vectorBytes)));

constexpr int64_t lanes = vectorBytes / int64_t(sizeof(double));
constexpr int64_t tileRows = 6, tileColumns = 2 * lanes; // 12 accumulators
constexpr int64_t blockK = 256, blockM = 96, blockN = 256;

namespace {
/// Element (row, column) is data[row * rowStride + column * columnStride].
struct Strided {
  const double *data;
  int64_t rowStride, columnStride;
};
} // namespace

/// Rows [0, rows) x columns [0, k) of `from` as panels of `width` rows: [panel][k][width],
/// the last panel filled up with zeros.
static void pack(Strided from, int64_t rows, int64_t k, int64_t width, double *to) {
  for (int64_t panel = 0; panel < rows; panel += width)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = panel; i < panel + width; ++i)
        *to++ = i < rows ? from.data[i * from.rowStride + p * from.columnStride] : 0.0;
}

/// c[tileRows][tileColumns] += a[k][tileRows]^T b[k][tileColumns].
static void multiplyTile(int64_t k, const double *a, const double *b, double *c) {
  auto *tile = reinterpret_cast<Vector *>(c);
  Vector sums[tileRows][2];
#pragma GCC unroll 6
  for (int64_t i = 0; i < tileRows; ++i)
    sums[i][0] = tile[2 * i], sums[i][1] = tile[2 * i + 1];
  for (int64_t p = 0; p < k; ++p, a += tileRows, b += tileColumns) {
    Vector low = *reinterpret_cast<const Vector *>(b), high = *reinterpret_cast<const Vector *>(b + lanes);
#pragma GCC unroll 6
    for (int64_t i = 0; i < tileRows; ++i) {
      sums[i][0] += a[i] * low;
      sums[i][1] += a[i] * high;
    }
  }
#pragma GCC unroll 6
  for (int64_t i = 0; i < tileRows; ++i)
    tile[2 * i] = sums[i][0], tile[2 * i + 1] = sums[i][1];
}

/// One tile of C, of which rows x columns exist: read, add products, write.
static void updateTile(int64_t k, const double *a, const double *b, double *c, int64_t ldc, int64_t rows,
                       int64_t columns) {
  alignas(64) double tile[tileRows * tileColumns] = {};
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(c + i * ldc, columns, tile + i * tileColumns);
  multiplyTile(k, a, b, tile);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(tile + i * tileColumns, columns, c + i * ldc);
}

/// What C holds before products are added: itself or 0, plus the bias.
static void initialise(const GemmShape &s, const GemmOperands &operands) {
  auto *c = static_cast<double *>(operands.c);
  const auto *bias = static_cast<const double *>(operands.bias);
  for (int64_t i = 0; i < s.m; ++i, c += s.ldc) {
    if (!s.accumulate)
      std::fill_n(c, s.n, 0.0);
    for (int64_t j = 0; s.hasBias && j < s.n; ++j)
      c[j] += bias[j];
  }
}

KernelStatus gemmF64(const GemmShape &s, const GemmOperands &operands) {
  auto *packedA = workspace<double>(WorkspaceUse::GemmA, blockK * blockM);
  auto *packedB = workspace<double>(WorkspaceUse::GemmB, blockK * blockN);
  if (!packedA || !packedB)
    return {workspaceExhausted};
  Strided a{static_cast<const double *>(operands.a), s.transposeA ? 1 : s.lda, s.transposeA ? s.lda : 1};
  Strided b{static_cast<const double *>(operands.b), s.transposeB ? s.ldb : 1, s.transposeB ? 1 : s.ldb};
  auto *c = static_cast<double *>(operands.c);
  initialise(s, operands);
  for (int64_t p = 0; p < s.k; p += blockK)
    for (int64_t j = 0; j < s.n; j += blockN) {
      int64_t k = std::min(blockK, s.k - p), columns = std::min(blockN, s.n - j);
      pack({b.data + j * b.rowStride + p * b.columnStride, b.rowStride, b.columnStride}, columns, k, tileColumns,
           packedB);
      for (int64_t i = 0; i < s.m; i += blockM) {
        int64_t rows = std::min(blockM, s.m - i);
        pack({a.data + i * a.rowStride + p * a.columnStride, a.rowStride, a.columnStride}, rows, k, tileRows, packedA);
        for (int64_t jr = 0; jr < columns; jr += tileColumns)
          for (int64_t ir = 0; ir < rows; ir += tileRows)
            updateTile(k, packedA + ir * k, packedB + jr * k, c + (i + ir) * s.ldc + j + jr, s.ldc,
                       std::min(tileRows, rows - ir), std::min(tileColumns, columns - jr));
      }
    }
  return {};
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
