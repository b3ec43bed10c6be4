//===- DgradSumTest.cpp - linear_dgrad_sum as products of a library -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "test/unit/kernels/CaseBuilder.h"
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// Counts what is asked of the library.
struct Counting {
  static inline int64_t products = 0, added = 0;
  static std::span<const cuda::DeviceKernel> ordered() { return cuda::emulated::kernelTable(); }
  static bool supports(const cuda::ColumnMajorProduct &) { return true; }
  static KernelStatus multiply(const cuda::ColumnMajorProduct &p) {
    ++products;
    added += p.accumulate;
    return cuda::emulated::multiply(p);
  }
};
} // namespace

static Case sumOfDgrads(DType t, int64_t addends, int64_t chunks) {
  Cases cases;
  {
    CaseBuilder sum(cases, "linear_dgrad_sum", t);
    for (int64_t i = 0; i < addends; ++i)
      sum.in({2, 5, 8 * (i + 1)});
    for (int64_t i = 0; i < addends; ++i)
      sum.in({8 * (i + 1), 24});
    sum.out({2, 5, 24}).integer("chunks", chunks);
  }
  return cases[0];
}

/// Each product is added to those before it (beta 1) where sums are stored as exactly as they are made: in f32, and
/// where there is one. Within the bounds of the reference: n + 2 roundings of a sum of n products, here one more for
/// each addend but the first, of sums that are not larger.
TEST(Products, SumsOfDgradsAreAProductEach) {
  static const std::vector<cuda::DeviceKernel> table = cuda::ProductKernels<Counting>::table();
  const Kernel &kernel = cuda::kernelOf(table, "linear_dgrad_sum").entry.kernel;
  for (auto [t, addends, chunks, products] : {std::tuple(DType::F32, 1, 0, 1),
                                              {DType::F32, 3, 0, 3},
                                              {DType::F32, 8, 0, 8},
                                              {DType::BF16, 1, 0, 1},
                                              {DType::BF16, 2, 0, 0},
                                              {DType::F16, 3, 0, 0},
                                              {DType::F64, 2, 0, 0},
                                              {DType::F32, 2, 2, 0}}) {
    Case kase = sumOfDgrads(t, addends, chunks);
    Counting::products = Counting::added = 0;
    EmulatedQueue queue(0);
    EXPECT_LE(worstAgainstReference(kase, kase.run(kernel)), 1.0) << kase.label;
    EXPECT_EQ(Counting::products, products) << kase.label;
    EXPECT_EQ(Counting::added, std::max(products - 1, 0)) << kase.label;
  }
}
