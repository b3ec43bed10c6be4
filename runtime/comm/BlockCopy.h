//===- BlockCopy.h - copies a box between two tensors -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_BLOCKCOPY_H
#define TGPT_RUNTIME_COMM_BLOCKCOPY_H

#include "runtime/kernels/api/Kernel.h"

#include <array>

namespace tgpt::runtime {

using TensorIndex = std::array<int64_t, TensorView::maxRank>;

/// Copies the box of `size` elements per dimension from `from` at `fromStart` to
/// `to` at `toStart`. Both are row-major of one dtype and rank; they may not overlap.
void copyBlock(const TensorView &from, const TensorIndex &fromStart, const TensorView &to, const TensorIndex &toStart,
               const TensorIndex &size);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_BLOCKCOPY_H
