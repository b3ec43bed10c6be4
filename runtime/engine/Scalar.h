//===- Scalar.h - one element as a double -----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_SCALAR_H
#define TGPT_RUNTIME_ENGINE_SCALAR_H

#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime {

/// Element `index` of a tensor as a double, and back (rounded to nearest even).
double loadElement(const TensorView &tensor, int64_t index = 0);
void storeElement(const TensorView &tensor, double value, int64_t index = 0);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_SCALAR_H
