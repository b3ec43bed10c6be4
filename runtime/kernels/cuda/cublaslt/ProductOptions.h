//===- ProductOptions.h - how products of a library are computed -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTOPTIONS_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTOPTIONS_H

#include <functional>
#include <string>

namespace tgpt::runtime::cuda {

struct ProductOptions {
  bool tf32 = false;                             ///< products of f32 operands on tensor cores, in 10 bits of fraction
  bool measured = false;                         ///< algorithms are chosen by time, not by the library's estimate
  std::string algorithmFile;                     ///< where chosen algorithms are kept; empty: nowhere
  std::function<void(const std::string &)> warn; ///< told, once, when the file is passed over or not written
};

/// Of the process; set before ranks begin.
ProductOptions &productOptions();

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTOPTIONS_H
