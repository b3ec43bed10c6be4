//===- LibraryProblem.h - a product in the words of cuBLASLt ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_LIBRARYPROBLEM_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_LIBRARYPROBLEM_H

#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <memory>

namespace tgpt::runtime::cuda {

/// The first call of a library that failed; later ones are not made.
class Calls {
public:
  template <typename Function, typename... Arguments>
  void then(const char *name, Function function, Arguments... arguments) {
    if (error.empty())
      take(name, function(arguments...));
  }
  void fail(std::string what) {
    if (error.empty())
      error = std::move(what);
  }
  bool ok() const { return error.empty(); }
  const std::string &what() const { return error; }

private:
  void take(const char *name, cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      error = std::string(name) + ": " + cublasLtGetStatusString(status);
  }
  void take(const char *name, cudaError_t status) {
    if (status != cudaSuccess)
      error = std::string(name) + ": " + cudaGetErrorString(status);
  }
  std::string error;
};

template <typename Handle, cublasStatus_t (*destroy)(Handle)> struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle, cublasStatus_t (*destroy)(Handle)>
using OwnedHandle = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

using Library = OwnedHandle<cublasLtHandle_t, cublasLtDestroy>;
using Description = OwnedHandle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = OwnedHandle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = OwnedHandle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// The library's view of a product.
struct LibraryProblem {
  LibraryProblem(const ColumnMajorProduct &product, Calls &calls);

  Description description;
  Layout a, b, c;
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_LIBRARYPROBLEM_H
