//===- ArithmeticTest.cpp - bf16 rounding, special values, errors at run time -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/BFloat16.h"
#include "test/unit/kernels/Case.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tgpt::runtime;
using namespace tgpt::test;

TEST(BFloat16, EveryValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = toFloat(BFloat16{uint16_t(bits)});
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(toFloat(toBFloat16(value))));
      continue;
    }
    EXPECT_EQ(toBFloat16(value).bits, bits);
    EXPECT_EQ(toBFloat16(double(value)).bits, bits);
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    double low = toFloat(BFloat16{uint16_t(bits)}), high = toFloat(BFloat16{uint16_t(bits + 1)});
    double middle = (low + high) / 2, nudge = (high - low) * 0x1p-40;
    uint16_t even = uint16_t(bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(toBFloat16(float(middle)).bits, even);
    ASSERT_EQ(toBFloat16(middle).bits, even);
    ASSERT_EQ(toBFloat16(middle - nudge).bits, bits) << "an f64 just below the middle must not be rounded twice";
    ASSERT_EQ(toBFloat16(middle + nudge).bits, bits + 1);
    ASSERT_EQ(toBFloat16(-middle).bits, even | 0x8000);
  }
}

static Case unary(std::string kernel, DType dtype, std::vector<double> values) {
  Case kase{kernel, kernel, dtype, {}, {}, {}};
  Tensor x(dtype, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    x.set(i, values[i]);
  kase.inputs = {x};
  kase.outputs = {x};
  return kase;
}

TEST(SpecialValues, CastKeepsInfinityAndNan) {
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    Case kase = unary("cast", DType::F32, {INFINITY, -INFINITY, NAN, -0.0});
    kase.outputs = {Tensor(DType::BF16, {4})};
    Tensor y = kase.run(*findKernel(build.table, "cast"))[0];
    EXPECT_EQ(y.get(0), INFINITY);
    EXPECT_EQ(y.get(1), -INFINITY);
    EXPECT_TRUE(std::isnan(y.get(2)));
    EXPECT_TRUE(std::signbit(y.get(3)));
  }
}

TEST(SpecialValues, GeluIsItsLimitsFarFromZeroAndCarriesNan) {
  for (const CpuKernelBuild &build : cpuKernelBuilds())
    for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
      Tensor y = unary("gelu", dtype, {1024, -1024, NAN, 0}).run(*findKernel(build.table, "gelu"))[0];
      EXPECT_EQ(y.get(0), 1024);
      EXPECT_EQ(y.get(1), 0);
      EXPECT_TRUE(std::isnan(y.get(2)));
      EXPECT_EQ(y.get(3), 0);
    }
}

/// [tokens, v] logits of one value each, with these labels.
static Case lossCase(double logit, std::vector<int32_t> labels, int64_t v) {
  Case kase{"cross_entropy", "cross_entropy", DType::F32, {}, {}, {}};
  int64_t tokens = int64_t(labels.size());
  Tensor logits(DType::F32, {tokens, v}), ids(DType::I32, {tokens});
  for (int64_t i = 0; i < logits.elements(); ++i)
    logits.set(i, logit);
  for (int64_t t = 0; t < tokens; ++t)
    ids.set(t, labels[t]);
  kase.inputs = {logits, ids};
  kase.outputs = {Tensor(DType::F32, {}), Tensor(DType::F32, {}), Tensor(DType::F32, {tokens})};
  return kase;
}

TEST(SpecialValues, LossOfHugeLogitsIsFinite) {
  for (const CpuKernelBuild &build : cpuKernelBuilds())
    for (double logit : {3e38, -3e38, 0.0}) {
      std::vector<Tensor> y = lossCase(logit, {0, -100, 3}, 16).run(*findKernel(build.table, "cross_entropy"));
      EXPECT_TRUE(std::isfinite(y[0].get(0)));
      EXPECT_EQ(y[1].get(0), 2);
    }
}

TEST(SpecialValues, LossOfNanLogitsIsNan) {
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    Case kase = lossCase(1, {0, 3}, 16);
    kase.inputs[0].set(5, NAN);
    EXPECT_TRUE(std::isnan(kase.run(*findKernel(build.table, "cross_entropy"))[0].get(0)));
  }
}

/// Runs without expecting success.
static KernelStatus statusOf(Case kase, const Kernel &kernel) {
  std::vector<TensorView> inputs, outputs;
  for (Tensor &tensor : kase.inputs)
    inputs.push_back(tensor.view());
  for (Tensor &tensor : kase.outputs)
    outputs.push_back(tensor.view());
  return kernel.function({inputs, outputs, &kase.attributes});
}

TEST(RunTimeErrors, LabelBeyondTheVocabularyIsReported) {
  Case kase = lossCase(1, {0, 16}, 16);
  EXPECT_FALSE(statusOf(kase, *findKernel(KernelBackend::Reference, "cross_entropy")).ok());
  for (const CpuKernelBuild &build : cpuKernelBuilds())
    EXPECT_FALSE(statusOf(kase, *findKernel(build.table, "cross_entropy")).ok());
}
