//===- ColumnMajorProduct.h - what a BLAS is asked for ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A BLAS sees a row-major matrix as its transpose, column-major. This is the whole
// translation of the kernels `linear`, `linear_dgrad` and `linear_wgrad`, and of pairs of
// kernels that one product does (Fusion.h), apart from the library that computes it, so
// that it is tested without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_COLUMNMAJORPRODUCT_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_COLUMNMAJORPRODUCT_H

#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime::cuda {

/// What is done to P = op(A) op(B) + bias before it is stored.
enum class Epilogue : uint8_t {
  None,
  Gelu,        ///< aux = P, C = gelu(P)
  GeluGrad,    ///< C = P times the slope of gelu at aux
  BiasGradient ///< C = P (+ C); biasGradient[column] = sum over k of op(B)
};

/// C[m,n] = epilogue of op(A)[m,k] op(B)[k,n] + bias[m] (+ C), column-major, leading
/// dimensions in elements.
struct ColumnMajorProduct {
  DType inputType = DType::F32;
  DType outputType = DType::F32; ///< inputType, or its accumulator
  bool transposeA = false, transposeB = false, accumulate = false;
  bool tf32 = false; ///< f32 operands may lose 13 bits of their fractions
  Epilogue epilogue = Epilogue::None;
  int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  const void *a = nullptr, *b = nullptr, *bias = nullptr; ///< bias of inputType, or null
  void *c = nullptr;
  void *aux = nullptr;          ///< [m,n] of inputType, laid out as c
  void *biasGradient = nullptr; ///< [n] of outputType
  void *workspace = nullptr;    ///< that the library may use, 256-byte aligned
  size_t workspaceBytes = 0;

  /// "bf16 f32 TN 4096x512x1024 ld 1024,1024,4096 a256 b256 c256 bias accumulate ws4194304": what the choice of
  /// an algorithm depends on; aN: the address is a multiple of N bytes.
  std::string key() const;
};

/// The largest power of two up to 256 that divides the address.
uint32_t alignmentOf(const void *address);

/// Of what an epilogue reads and writes beside the result; 256 where there is nothing.
uint32_t alignmentOfEpilogue(const ColumnMajorProduct &product);
/// Which it needs: algorithms access a bias, too, 16 bytes at a time, and are not told where it lies.
inline constexpr uint32_t epilogueAlignment = 16;

// Of calls that passed their checks and have no attribute `chunks`.
ColumnMajorProduct linearProduct(const KernelCall &call);
ColumnMajorProduct linearDgradProduct(const KernelCall &call);
ColumnMajorProduct linearWgradProduct(const KernelCall &call);

// Of fused calls (Fusion.h).
/// x, w, optional bias -> y, gelu(y)
ColumnMajorProduct linearGeluProduct(const KernelCall &call);
/// dy, w, x -> gelu_grad(dy w, x)
ColumnMajorProduct dgradGeluGradProduct(const KernelCall &call);
/// dy, x -> dw, dbias; the sums over rows of dy go to `biasGradient`
ColumnMajorProduct wgradBiasProduct(const KernelCall &call, void *biasGradient);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_COLUMNMAJORPRODUCT_H
