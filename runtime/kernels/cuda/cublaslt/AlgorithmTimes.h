//===- AlgorithmTimes.h - which algorithm a measurement chooses -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMTIMES_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMTIMES_H

#include <functional>
#include <optional>

namespace tgpt::runtime::cuda {

/// The candidate of [0, count) with the least of `rounds` times; of those within 2% of it the first,
/// which is the best by the library's estimate: noise alone changes nothing. seconds(candidate) is
/// a time, or nothing where the candidate cannot run. Rounds take turns over the candidates.
std::optional<int> fastest(int count, int rounds, const std::function<std::optional<double>(int)> &seconds);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMTIMES_H
