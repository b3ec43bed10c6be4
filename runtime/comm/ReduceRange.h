//===- ReduceRange.h - element-wise reduction of n tensors ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_REDUCERANGE_H
#define TGPT_RUNTIME_COMM_REDUCERANGE_H

#include "runtime/comm/Communicator.h"

#include <cstdint>
#include <span>

namespace tgpt::runtime {

/// outputs[..][toOffset + i] = inputs[0][fromOffset + i] (+|max) inputs[1][..] ...
/// for i in [0, count), offsets in elements, in the order of `inputs`, or as a TreeSum.
/// f64, f32 and i32 (wrapping) in their own type, bf16 and f16 in f32 and rounded once; a NaN stays a
/// NaN under max. An output may be an input at equal offsets.
void reduceRange(DType dtype, Reduction reduction, std::span<const void *const> inputs, int64_t fromOffset,
                 std::span<void *const> outputs, int64_t toOffset, int64_t count);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_REDUCERANGE_H
