//===- Gemm.cpp - choice of GEMM provider, split over threads ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <atomic>

namespace tgpt::runtime::cpu::TGPT_ISA {

KernelStatus gemm(const GemmShape &shape, const GemmOperands &operands) {
  if (shape.inputType == DType::F64 || shape.chunks > 0) {
    GemmTerm term{operands.a, operands.b, shape.k, shape.lda, shape.ldb};
    return gemmInOrder(shape, {&term, 1}, operands.c, shape.hasBias ? operands.bias : nullptr);
  }
  if (shape.inputType != DType::F16)
    if (std::optional<KernelStatus> done = gemmOneDnn(shape, operands))
      return *done;
  return gemmWidened(shape, operands);
}

/// Rows of C per chunk, a multiple of 16. Every chunk packs B again, so chunks are few and large: about 256 rows,
/// never more than 16 chunks. Their number is even, so that two threads share a product equally, unless the product
/// is too small to share.
static int64_t rowsOfC(const GemmShape &shape) {
  constexpr int64_t rowsOfTwoChunks = 512, mostPairs = 8, leastProducts = 1 << 22;
  int64_t pairs = std::clamp<int64_t>(chunkCount(shape.m, rowsOfTwoChunks), 1, mostPairs);
  int64_t worthSharing = std::max<int64_t>(1, shape.m * shape.n * shape.k / leastProducts);
  int64_t chunks = std::min(2 * pairs, worthSharing);
  return (chunkCount(shape.m, chunks) + 15) / 16 * 16;
}

/// multiply(shape, begin) for each chunk of rows of C; the first failure is kept.
template <typename Multiply> static KernelStatus forRowsOfC(const GemmShape &shape, const Multiply &multiply) {
  std::atomic<const char *> error = nullptr;
  forChunks(shape.m, rowsOfC(shape), [&](int64_t begin, int64_t end) {
    GemmShape part = shape;
    part.m = end - begin;
    if (KernelStatus status = multiply(part, begin); !status.ok())
      error = status.error;
  });
  return {error};
}

/// Row `begin` of op(A).
static const void *rowOfA(const GemmShape &shape, const void *a, int64_t lda, int64_t begin) {
  int64_t skipped = shape.transposeA ? begin : begin * lda;
  return static_cast<const char *>(a) + skipped * int64_t(sizeInBytes(shape.inputType));
}

static void *rowOfC(const GemmShape &shape, void *c, int64_t begin) {
  return static_cast<char *>(c) + begin * shape.ldc * int64_t(sizeInBytes(shape.outputType));
}

KernelStatus gemmOverThreads(const GemmShape &shape, const GemmOperands &operands) {
  return forRowsOfC(shape, [&](const GemmShape &part, int64_t begin) {
    GemmOperands at = operands;
    at.a = rowOfA(shape, operands.a, shape.lda, begin);
    at.c = rowOfC(shape, operands.c, begin);
    return gemm(part, at);
  });
}

KernelStatus gemmInOrderOverThreads(const GemmShape &shape, std::span<const GemmTerm> terms, void *c) {
  return forRowsOfC(shape, [&](const GemmShape &part, int64_t begin) -> KernelStatus {
    constexpr size_t mostTerms = 8;
    GemmTerm at[mostTerms];
    if (terms.size() > mostTerms)
      return {"more than 8 products in one sum"};
    for (size_t t = 0; t < terms.size(); ++t) {
      at[t] = terms[t];
      at[t].a = rowOfA(shape, terms[t].a, terms[t].lda, begin);
    }
    return gemmInOrder(part, {at, terms.size()}, rowOfC(shape, c, begin), nullptr);
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
