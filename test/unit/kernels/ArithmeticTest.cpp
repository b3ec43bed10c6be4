//===- ArithmeticTest.cpp - bf16 and f16 rounding, special values, errors at run time -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "test/unit/kernels/Case.h"
#include "test/unit/kernels/LossCase.h"

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

TEST(Float16, ValuesAreThoseOfTheStandard) {
  for (auto [bits, value] : {std::pair<int, double>{0x3c00, 1},
                             {0xc000, -2},
                             {0x7bff, 65504},
                             {0x0400, 0x1p-14},
                             {0x0001, 0x1p-24},
                             {0x03ff, 1023 * 0x1p-24},
                             {0x7c00, INFINITY},
                             {0xfc00, -INFINITY}})
    EXPECT_EQ(toFloat(Float16{uint16_t(bits)}), value);
  EXPECT_TRUE(std::isnan(toFloat(Float16{0x7c01})));
}

TEST(Float16, EveryValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = toFloat(Float16{uint16_t(bits)});
    if (std::isnan(value)) {
      EXPECT_EQ(toFloat16(value).bits, bits | 0x200) << "the payload stays, a signalling NaN becomes quiet";
      continue;
    }
    ASSERT_EQ(toFloat16(value).bits, bits);
    ASSERT_EQ(toFloat16(double(value)).bits, bits);
  }
}

// Subnormals, the step to normals and the step to infinity included: 0x7bff is 65504, the next would be 65536.
TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    double low = toFloat(Float16{uint16_t(bits)});
    double high = bits + 1 == 0x7c00 ? 65536 : toFloat(Float16{uint16_t(bits + 1)});
    double middle = (low + high) / 2, nudge = (high - low) * 0x1p-40;
    uint16_t even = uint16_t(bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(toFloat16(float(middle)).bits, even);
    ASSERT_EQ(toFloat16(std::nextafter(float(middle), 0.0f)).bits, bits);
    ASSERT_EQ(toFloat16(std::nextafter(float(middle), INFINITY)).bits, bits + 1);
    ASSERT_EQ(toFloat16(middle).bits, even);
    ASSERT_EQ(toFloat16(middle - nudge).bits, bits) << "an f64 just below the middle must not be rounded twice";
    ASSERT_EQ(toFloat16(middle + nudge).bits, bits + 1);
    ASSERT_EQ(toFloat16(-middle).bits, even | 0x8000);
  }
  for (double huge : {65520.0, 1e5, 3e38, 1e300, double(INFINITY)})
    EXPECT_EQ(toFloat16(huge).bits, 0x7c00);
  for (double tiny : {0x1p-25, 1e-30, 1e-44, 1e-300})
    EXPECT_EQ(toFloat16(-tiny).bits, 0x8000);
}

// Each build converts with the processor's instructions, with vectors of its own, or one by one: the same bits.
TEST(Float16, EveryBuildConvertsAlike) {
  Tensor all(DType::F16, {0x10000}), wide(DType::F32, {0x10000}), products(DType::F16, {0x10000});
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    all.view().as<uint16_t>()[bits] = uint16_t(bits);
  Tensor one(DType::F16, {1, 1});
  one.set(0, 1);
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    Case widen{"cast", "cast", DType::F16, {all}, {wide}, {}};
    Tensor floats = widen.run(*findKernel(build.table, "cast"))[0];
    Case narrow{"cast", "cast", DType::F16, {floats}, {all}, {}};
    Tensor back = narrow.run(*findKernel(build.table, "cast"))[0];
    // y = x w^T of single elements and weight 1.
    Tensor column(DType::F16, {0x10000, 1}), result(DType::F16, {0x10000, 1});
    std::copy_n(all.view().as<uint16_t>(), 0x10000, column.view().as<uint16_t>());
    Case product{"linear", "linear", DType::F16, {column, one}, {result}, {}};
    Tensor same = product.run(*findKernel(build.table, "linear"))[0];
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      bool isNan = (bits & 0x7fff) > 0x7c00;
      ASSERT_EQ(back.view().as<uint16_t>()[bits], isNan ? bits | 0x200 : bits) << build.name;
      if (isNan)
        ASSERT_TRUE(std::isnan(same.get(bits))) << build.name;
      else
        ASSERT_EQ(same.get(bits), toFloat(Float16{uint16_t(bits)})) << build.name << " " << bits;
    }
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
    for (DType narrow : {DType::BF16, DType::F16}) {
      kase.outputs = {Tensor(narrow, {4})};
      Tensor y = kase.run(*findKernel(build.table, "cast"))[0];
      EXPECT_EQ(y.get(0), INFINITY);
      EXPECT_EQ(y.get(1), -INFINITY);
      EXPECT_TRUE(std::isnan(y.get(2)));
      EXPECT_TRUE(std::signbit(y.get(3)));
    }
  }
}

TEST(SpecialValues, GeluIsItsLimitsFarFromZeroAndCarriesNan) {
  for (const CpuKernelBuild &build : cpuKernelBuilds())
    for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
      Tensor y = unary("gelu", dtype, {1024, -1024, NAN, 0}).run(*findKernel(build.table, "gelu"))[0];
      EXPECT_EQ(y.get(0), 1024);
      EXPECT_EQ(y.get(1), 0);
      EXPECT_TRUE(std::isnan(y.get(2)));
      EXPECT_EQ(y.get(3), 0);
    }
}

// A skipped step keeps the bits of all that the optimizer changes, whatever gradient and scale are.
TEST(SpecialValues, StepZeroOfAdamWKeepsEveryBit) {
  for (const CpuKernelBuild &build : cpuKernelBuilds())
    for (DType dtype : {DType::F64, DType::F32}) {
      Tensor state(dtype, {3}), gradient(dtype, {3}), nan(dtype, {}), zero(dtype, {});
      for (int64_t i = 0; i < 3; ++i) {
        state.set(i, 0.1 * double(i + 1));
        gradient.set(i, i == 1 ? NAN : INFINITY);
      }
      nan.set(0, NAN);
      Case kase{"adamw", "adamw", dtype, {state, gradient, state, state, nan, nan, zero}, {state, state, state}, {}};
      for (Tensor &output : kase.outputs)
        output.set(0, 7);
      for (const char *attribute : {"beta1", "beta2", "epsilon", "weight_decay"})
        kase.attributes.set(attribute, 0.5);
      for (const Tensor &result : kase.run(*findKernel(build.table, "adamw")))
        EXPECT_EQ(result.bytes(), state.bytes()) << build.name;
    }
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
