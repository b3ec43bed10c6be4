//===- GemmOpenBlas.cpp - f64 products through OpenBLAS ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serial OpenBLAS: a call runs on its own thread; several ranks may call at once.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Gemm.h"

#include <algorithm>
#include <cblas.h>

using namespace tgpt::runtime;

KernelStatus cpu::gemmOpenBlas(const GemmShape &shape, const GemmOperands &operands) {
  if (std::max({shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc}) > INT32_MAX)
    return {"matrix dimension above 2^31-1"};
  auto *c = static_cast<double *>(operands.c);
  bool startsFromC = shape.accumulate;
  if (shape.hasBias) {
    const auto *bias = static_cast<const double *>(operands.bias);
    for (int64_t i = 0; i < shape.m; ++i)
      for (int64_t j = 0; j < shape.n; ++j)
        c[i * shape.ldc + j] = bias[j] + (shape.accumulate ? c[i * shape.ldc + j] : 0.0);
    startsFromC = true;
  }
  cblas_dgemm(CblasRowMajor, shape.transposeA ? CblasTrans : CblasNoTrans,
              shape.transposeB ? CblasTrans : CblasNoTrans, int(shape.m), int(shape.n), int(shape.k), 1.0,
              static_cast<const double *>(operands.a), int(shape.lda), static_cast<const double *>(operands.b),
              int(shape.ldb), startsFromC ? 1.0 : 0.0, c, int(shape.ldc));
  return {};
}
