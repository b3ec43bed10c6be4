//===- GemmTimeTest.cpp - products against their closed form ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/DeviceProfile.h"
#include "cost/DeviceRates.h"
#include "cost/KernelTime.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

GemmCurve curve() {
  GemmCurve curve;
  curve.peakFlopsPerSecond = 1e14;
  curve.efficiency = 0.5;
  curve.kHalf = 100;
  curve.waveSoftness = 1;
  curve.startSeconds = 1e-6;
  curve.memoryFraction = 0.5;
  curve.units = 100;
  return curve;
}

TEST(GemmTimeTest, wholeWavesOfTiles) {
  // 10 x 10 tiles on 100 units: one wave, whose tiles take 2 x 128 x 128 x (900 + 100) operations at 0.5 TFLOP/s.
  double wave = 2. * 128 * 128 * 1000 / 0.5e12;
  EXPECT_NEAR(gemmSeconds(curve(), 1e15, {1, 1280, 1280, 900}), 1e-6 + wave, 1e-12);
  // One tile more makes a second wave.
  EXPECT_NEAR(gemmSeconds(curve(), 1e15, {101, 128, 128, 900}), 1e-6 + 2 * wave, 1e-12);
  GemmCurve soft = curve();
  soft.waveSoftness = 0;
  EXPECT_NEAR(gemmSeconds(soft, 1e15, {101, 128, 128, 900}), 1e-6 + 1.01 * wave, 1e-12);
}

TEST(GemmTimeTest, bytesRuleThinProducts) {
  Gemm thin{1, 128, 12800, 64, 2, 4};
  EXPECT_DOUBLE_EQ(thin.bytes(), 2. * (128 * 64 + 64 * 12800) + 4. * 128 * 12800);
  EXPECT_DOUBLE_EQ(gemmSeconds(curve(), 1e11, thin), 1e-6 + thin.bytes() / 0.5e11);
}

TEST(GemmTimeTest, ratesOfAProfileAgreeWithItsRoofline) {
  const DeviceProfile &device = defaultDevice();
  DeviceRates rates = ratesOf(device);
  Gemm large{1, 16384, 16384, 16384};
  double roofline = kernelSeconds(device, {large.flops(), large.bytes(), 0, Dtype::BF16, KernelKind::MatrixProduct});
  double closed = gemmSeconds(rates.curve(OperandType::Bits16), rates.memoryBytesPerSecond, large);
  // The prologue of a tile (kHalf of 16384) and the last wave are all that differs.
  EXPECT_NEAR(closed / roofline, 1, 0.02);
}

} // namespace
