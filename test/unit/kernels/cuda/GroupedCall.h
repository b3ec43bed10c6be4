//===- GroupedCall.h - operands of calls that become one --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CUDA_GROUPEDCALL_H
#define TGPT_TEST_UNIT_KERNELS_CUDA_GROUPEDCALL_H

#include "test/unit/kernels/Case.h"

#include <gtest/gtest.h>

#include <random>

namespace tgpt::test {

inline Tensor drawn(runtime::DType dtype, std::vector<int64_t> shape, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937 random(seed);
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set(i, std::uniform_real_distribution<double>(low, high)(random));
  return tensor;
}

inline std::vector<runtime::TensorView> viewsOf(std::vector<Tensor> &tensors) {
  std::vector<runtime::TensorView> views;
  for (Tensor &tensor : tensors)
    views.push_back(tensor.view());
  return views;
}

inline void expectSameBits(const std::vector<Tensor> &got, const std::vector<Tensor> &expected,
                           const std::string &label) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t o = 0; o < got.size(); ++o)
    EXPECT_EQ(got[o].bytes(), expected[o].bytes()) << label << ": output " << o;
}

/// Runs a kernel of the device's table, in emulation or on a GPU, as the program's other tests do; with bytes of
/// workspace beyond what it asks for.
void runKernel(std::string_view name, const runtime::KernelCall &call, size_t moreWorkspace = 0);

/// Launches so far; 0 on a GPU, where nobody counts them.
uint64_t launchCount();

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CUDA_GROUPEDCALL_H
