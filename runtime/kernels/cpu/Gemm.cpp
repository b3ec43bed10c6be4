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
  if (shape.inputType == DType::F64)
    return gemmF64(shape, operands);
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

KernelStatus gemmOverThreads(const GemmShape &shape, const GemmOperands &operands) {
  int64_t chunk = rowsOfC(shape);
  std::atomic<const char *> error = nullptr;
  forChunks(shape.m, chunk, [&](int64_t begin, int64_t end) {
    GemmShape part = shape;
    part.m = end - begin;
    GemmOperands at = operands;
    int64_t skipA = shape.transposeA ? begin : begin * shape.lda;
    at.a = static_cast<const char *>(operands.a) + skipA * int64_t(sizeInBytes(shape.inputType));
    at.c = static_cast<char *>(operands.c) + begin * shape.ldc * int64_t(sizeInBytes(shape.outputType));
    if (KernelStatus status = gemm(part, at); !status.ok())
      error = status.error;
  });
  return {error};
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
