//===- runtime/checkpoint/ConvertTensor.h - a tensor in another dtype -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CHECKPOINT_CONVERTTENSOR_H
#define TGPT_RUNTIME_CHECKPOINT_CONVERTTENSOR_H

#include "runtime/engine/LogicalTensor.h"

namespace tgpt::runtime {

/// f64, f32, bf16 and f16 convert into one another (rounding to nearest even); i32 only into itself.
bool isConvertible(DType from, DType to);

/// The values of `tensor` as `dtype`, which must be convertible.
LogicalTensor convertTensor(LogicalTensor tensor, DType dtype);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_CONVERTTENSOR_H
