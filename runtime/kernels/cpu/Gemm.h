//===- Gemm.h - matrix products on one thread -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[m,n] = or += op(A) op(B) + bias, row-major, leading dimensions in elements.
// Two providers: oneDNN for f32 and bf16 (f32 accumulation), our own for f64 and
// wherever the order of additions matters. f16, and bf16 where the processor has no
// product of it, are converted to f32 first.
// A call uses the calling thread alone, whatever the OpenMP settings, so its
// result does not depend on the number of threads. What it needs (primitives,
// scratchpad) is kept per thread and grows only when a new shape is met.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_GEMM_H
#define TGPT_RUNTIME_KERNELS_CPU_GEMM_H

#include "runtime/kernels/api/Kernel.h"

#include <optional>
#include <span>

namespace tgpt::runtime::cpu {

struct GemmShape {
  DType inputType = DType::F32;
  DType outputType = DType::F32; ///< inputType, or f32 where inputType is bf16 or f16
  bool transposeA = false;       ///< A is stored [k,m]
  bool transposeB = false;       ///< B is stored [n,k]
  bool accumulate = false;       ///< C += (outputType f64 or f32)
  bool hasBias = false;          ///< bias[n] of inputType, added to every row
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t chunks = 0; ///< k is added up in so many equal chunks and these in a tree; 0: in any order

  bool operator==(const GemmShape &) const = default;
};

struct GemmOperands {
  const void *a = nullptr;
  const void *b = nullptr;
  void *c = nullptr;
  const void *bias = nullptr;
};

/// One of several products that are added up.
struct GemmTerm {
  const void *a = nullptr;
  const void *b = nullptr;
  int64_t k = 0, lda = 0, ldb = 0;
};

/// f32 and bf16, in any order; nothing where this processor has no product of the kind.
std::optional<KernelStatus> gemmOneDnn(const GemmShape &shape, const GemmOperands &operands);

#ifdef TGPT_ISA
namespace TGPT_ISA {

/// The sum of the products `terms`, chunk by chunk; the shape's own k, lda and ldb are not used.
KernelStatus gemmInOrder(const GemmShape &shape, std::span<const GemmTerm> terms, void *c, const void *bias);

/// bf16 and f16, through the f32 product of converted operands.
KernelStatus gemmWidened(const GemmShape &shape, const GemmOperands &operands);

/// By the provider for the shape's input type and order.
KernelStatus gemm(const GemmShape &shape, const GemmOperands &operands);

/// The same, rows of C split over the OpenMP threads of the caller. The split
/// depends on the shape alone.
KernelStatus gemmOverThreads(const GemmShape &shape, const GemmOperands &operands);

/// gemmInOrder, rows of C split likewise.
KernelStatus gemmInOrderOverThreads(const GemmShape &shape, std::span<const GemmTerm> terms, void *c);

} // namespace TGPT_ISA
#endif

} // namespace tgpt::runtime::cpu

#endif // TGPT_RUNTIME_KERNELS_CPU_GEMM_H
