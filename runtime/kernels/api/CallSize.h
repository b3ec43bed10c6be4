//===- CallSize.h - what the time of a kernel call grows with ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for the calls that are measured and the calls that are predicted:
//
//   linear, linear_dgrad, linear_wgrad, linear_dgrad_sum
//                     operations 2 m n k, items m n: what the product gives
//   attention         operations 4 c a score, items the scores: half of s^2 where it is causal;
//                     pieces the blocks of 64 queries of all samples' KV heads, each with
//                     products of its own
//   attention_grad    operations 10 c a score; items and pieces as above
//   rope, head_norm, head_norm_grad
//                     bytes of all operands, items the heads of all positions
//   embedding         bytes of the rows that are read and written, not of the table
//   everything else   bytes of all operands, items the rows of the largest
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_CALLSIZE_H
#define TGPT_RUNTIME_KERNELS_API_CALLSIZE_H

#include "cost/MeasuredRates.h"
#include "runtime/kernels/api/Kernel.h"

#include <string>
#include <string_view>

namespace tgpt::runtime {

/// The size of a call that passed its kernel's check.
cost::CallSize callSize(std::string_view kernel, const KernelCall &call);

/// Behind the name of a kernel: its calls that sum in canonical order, chunk by chunk.
inline constexpr std::string_view inChunks = "_in_chunks";

/// What the rate of a call is measured and found under: the kernel, and apart from it where it sums in chunks.
std::string rateName(std::string_view kernel, const KernelCall &call);

/// The dtype that says how fast a call is: that of its first operand of reals; f32 where it has none.
cost::Dtype rateDtype(const KernelCall &call);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_CALLSIZE_H
