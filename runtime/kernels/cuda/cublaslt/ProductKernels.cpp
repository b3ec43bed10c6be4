//===- ProductKernels.cpp - kernels that are products of a library -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

ProductOptions &cuda::productOptions() {
  static ProductOptions options;
  return options;
}

bool cuda::isOrdered(const KernelCall &call) {
  return !cost::isLibraryProduct(int64_t(sizeInBytes(call.inputs[0].dtype)), call.attributes->integer("chunks"));
}

// What is stored in bf16 or f16 is rounded each time.
bool cuda::addsExactly(const KernelCall &linearDgradSum) {
  return linearDgradSum.outputs[0].dtype == DType::F32 || linearDgradSum.inputs.size() == 2;
}

const Attributes &cuda::accumulating(bool accumulate) {
  static const std::array<Attributes, 2> both = [] {
    std::array<Attributes, 2> made;
    made[1].set("accumulate", int64_t(1));
    return made;
  }();
  return both[accumulate];
}
