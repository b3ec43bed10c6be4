//===- ProductTest.cpp - what cuBLASLt is asked for -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No library computes here: the products are carried out as a BLAS defines them and
// compared with the reference kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/kernels/ErrorBounds.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace tgpt::runtime;
using namespace tgpt::test;

static double element(const void *data, DType dtype, int64_t i) {
  TensorView view;
  view.data = const_cast<void *>(data);
  view.dtype = dtype;
  return reference::get(view, i);
}

/// C = op(A) op(B) + bias (+ C), as a BLAS defines it.
static void multiplyColumnMajor(const cuda::ColumnMajorProduct &p) {
  TensorView c;
  c.data = p.c;
  c.dtype = p.outputType;
  for (int64_t column = 0; column < p.n; ++column)
    for (int64_t row = 0; row < p.m; ++row) {
      double sum = p.bias ? element(p.bias, p.inputType, row) : 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += element(p.a, p.inputType, p.transposeA ? row * p.lda + k : k * p.lda + row) *
               element(p.b, p.inputType, p.transposeB ? k * p.ldb + column : column * p.ldb + k);
      int64_t at = column * p.ldc + row;
      reference::put(c, at, p.accumulate ? reference::get(c, at) + sum : sum);
    }
}

TEST(ColumnMajorProduct, IsTheKernelsProduct) {
  int64_t judged = 0;
  for (const Case &kase : allCases()) {
    using ProductOf = cuda::ColumnMajorProduct (*)(const KernelCall &);
    ProductOf productOf = kase.kernel == "linear"         ? cuda::linearProduct
                          : kase.kernel == "linear_dgrad" ? cuda::linearDgradProduct
                          : kase.kernel == "linear_wgrad" ? cuda::linearWgradProduct
                                                          : nullptr;
    if (!productOf || !isJudged(kase) || kase.attributes.integer("chunks") > 0)
      continue;
    std::vector<Tensor> expected = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
    Case own = kase;
    std::vector<TensorView> inputs, outputs = {own.outputs[0].view()};
    for (Tensor &tensor : own.inputs)
      inputs.push_back(tensor.view());
    multiplyColumnMajor(productOf({inputs, outputs, &own.attributes}));
    auto bounds = errorBounds(kase, expected);
    for (int64_t i = 0; i < expected[0].elements(); ++i)
      ASSERT_LE(std::abs(own.outputs[0].get(i) - expected[0].get(i)), bounds[0][i]) << kase.label;
    ++judged;
  }
  EXPECT_GE(judged, 60);
}

TEST(ColumnMajorProduct, KeyHasWhatTheAlgorithmDependsOn) {
  alignas(256) char memory[512];
  cuda::ColumnMajorProduct p{.inputType = DType::BF16, .outputType = DType::F32, .transposeA = true, .m = 8, .n = 5};
  p.k = 3, p.a = memory, p.b = memory + 16, p.c = memory + 256 + 2;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 a256 b16 c2");
  p.bias = memory, p.accumulate = true;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 a256 b16 c2 bias accumulate");
}

static const cuda::AlgorithmBits someBits = {1, 0x8000000000000000u, 3, 4, 5, 6, 7, 0xfedcba9876543210u};

TEST(AlgorithmCache, SurvivesAFile) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache cache("cublasLt 1 a device");
  EXPECT_FALSE(cache.load(path)) << "there is no file yet";
  cache.add("bf16 f32 TN 8x5x3 a256 b16 c2", someBits);
  cache.add("f32 f32 NN 1x1x1 a4 b4 c4 bias", {});
  cache.save(path);
  cuda::AlgorithmCache again("cublasLt 1 a device"), other("cublasLt 2 a device");
  EXPECT_TRUE(again.load(path));
  EXPECT_EQ(again.size(), 2u);
  ASSERT_TRUE(again.find("bf16 f32 TN 8x5x3 a256 b16 c2"));
  EXPECT_EQ(*again.find("bf16 f32 TN 8x5x3 a256 b16 c2"), someBits);
  EXPECT_FALSE(again.find("bf16 f32 TN 8x5x3 a256 b16 c4"));
  EXPECT_FALSE(other.load(path)) << "algorithms belong to one version of the library";
  EXPECT_EQ(other.size(), 0u);
}

TEST(AlgorithmCache, ADamagedFileIsAnError) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  for (const char *line : {"0123", "0123456789abcdef 0123456789abcdeg", ""}) {
    std::ofstream(path) << "tgpt-products 1 owner\n" << line << "\n";
    cuda::AlgorithmCache cache("owner");
    try {
      cache.load(path);
      ADD_FAILURE() << "accepted '" << line << "'";
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find("products:2: line is damaged"), std::string::npos) << error.what();
    }
    EXPECT_EQ(cache.size(), 0u);
  }
}
