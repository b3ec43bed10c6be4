//===- GemmWidened.cpp - 16-bit products through f32 ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are converted to f32, exactly, and multiplied there; a 16-bit result is
// rounded once. A conversion touches mk + kn elements for mnk products, so it costs
// little where n and m are large.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/RowConversion.h"
#include "runtime/kernels/cpu/Workspace.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// A dense f32 copy of a matrix; null when memory is exhausted.
template <typename T>
static float *widened(WorkspaceUse use, const void *from, int64_t rows, int64_t columns, int64_t ld) {
  auto *to = workspace<float>(use, rows * columns);
  for (int64_t i = 0; to && i < rows; ++i)
    widenRow(static_cast<const T *>(from) + i * ld, to + i * columns, columns);
  return to;
}

template <typename T> static KernelStatus multiply(const GemmShape &s, const GemmOperands &operands) {
  GemmShape wide = s;
  wide.inputType = wide.outputType = DType::F32;
  wide.lda = s.transposeA ? s.m : s.k;
  wide.ldb = s.transposeB ? s.k : s.n;
  GemmOperands at;
  at.a = widened<T>(WorkspaceUse::GemmA, operands.a, s.transposeA ? s.k : s.m, wide.lda, s.lda);
  at.b = widened<T>(WorkspaceUse::GemmB, operands.b, s.transposeB ? s.n : s.k, wide.ldb, s.ldb);
  at.bias = s.hasBias ? widened<T>(WorkspaceUse::GemmBias, operands.bias, 1, s.n, s.n) : nullptr;
  at.c = operands.c;
  bool narrows = s.outputType != DType::F32;
  if (narrows) {
    wide.ldc = s.n;
    at.c = workspace<float>(WorkspaceUse::GemmC, s.m * s.n);
  }
  if (!at.a || !at.b || !at.c || (s.hasBias && !at.bias))
    return {workspaceExhausted};
  KernelStatus status = gemmOneDnn(wide, at).value_or(KernelStatus{"oneDNN has no f32 product of this shape"});
  for (int64_t i = 0; status.ok() && narrows && i < s.m; ++i)
    narrowRow(static_cast<const float *>(at.c) + i * s.n, static_cast<T *>(operands.c) + i * s.ldc, s.n);
  return status;
}

KernelStatus gemmWidened(const GemmShape &shape, const GemmOperands &operands) {
  return shape.inputType == DType::F16 ? multiply<Float16>(shape, operands) : multiply<BFloat16>(shape, operands);
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
