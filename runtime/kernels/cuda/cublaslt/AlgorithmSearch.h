//===- AlgorithmSearch.h - choosing how a product is computed --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMSEARCH_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMSEARCH_H

#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/kernels/cuda/cublaslt/LibraryProblem.h"

#include <optional>

namespace tgpt::runtime::cuda {

/// This thread's choices (KeptAlgorithms.h) for this version of the library and this device.
void openKeptAlgorithms(Calls &calls);

/// One call of the library on this thread's stream.
void multiplyBy(const AlgorithmBits &algorithm, cublasLtHandle_t library, const ColumnMajorProduct &product,
                const LibraryProblem &problem, Calls &calls);

/// The best algorithm whose sums have a fixed order and that fits the product's workspace: by the library's
/// estimate, or by time where options say so and the stream is not being captured. Nothing where
/// there is none.
std::optional<AlgorithmBits> chooseAlgorithm(cublasLtHandle_t library, const ColumnMajorProduct &product,
                                             const LibraryProblem &problem, Calls &calls);

/// Whether an algorithm from a file is one that chooseAlgorithm could have chosen.
bool isUsable(const AlgorithmBits &algorithm, cublasLtHandle_t library, const ColumnMajorProduct &product,
              const LibraryProblem &problem);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMSEARCH_H
