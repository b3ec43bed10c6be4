//===- KernelTimeTest.cpp - kernel times against sums by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/KernelTime.h"
#include "cost/DeviceText.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

DeviceProfile device() {
  DeviceProfile device = defaultDevice();
  device.kernelLaunchSeconds = 1e-6;
  device.memoryBytesPerSecond = 1e12;
  device.matrixFlopsPerSecond = {{1e13, 2e13, 1e14, 1e14}};
  device.vectorFlopsPerSecond = {{1e12, 2e12, 2e12, 2e12}};
  device.matrixEfficiency = {{{1e8, 0.2}, {1e10, 0.8}}};
  device.attentionEfficiency = {{{1, 0.5}}};
  device.memoryEfficiency = {{{1, 0.8}}};
  return device;
}

TEST(KernelTimeTest, theSlowerOfComputingAndMoving) {
  // 1e10 operations at 0.8 of 1e14: 125 us; bytes at 0.8 of 1e12: 1.25 us a megabyte.
  KernelFacts product = {1e10, 4e6, 2e6, Dtype::BF16, KernelKind::MatrixProduct};
  EXPECT_NEAR(kernelSeconds(device(), product), 126e-6, 1e-12);
  product.bytesRead = 398e6;
  EXPECT_NEAR(kernelSeconds(device(), product), 501e-6, 1e-12);
  product = {1e10, 0, 0, Dtype::F64, KernelKind::MatrixProduct};
  EXPECT_NEAR(kernelSeconds(device(), product), 1251e-6, 1e-12);
}

TEST(KernelTimeTest, eachKindHasItsPeak) {
  EXPECT_NEAR(kernelSeconds(device(), {1e10, 0, 0, Dtype::F32, KernelKind::Attention}), 1001e-6, 1e-12);
  EXPECT_NEAR(kernelSeconds(device(), {1e10, 0, 0, Dtype::F32, KernelKind::Vector}), 5001e-6, 1e-12);
  EXPECT_NEAR(kernelSeconds(device(), {0, 0, 0, Dtype::F32, KernelKind::Vector}), 1e-6, 1e-15);
}

TEST(KernelTimeTest, curvesAreLinearInTheLogarithm) {
  EfficiencyCurve curve = {{{1e8, 0.2}, {1e10, 0.8}, {1e11, 0.7}}};
  EXPECT_DOUBLE_EQ(curve.at(1), 0.2);
  EXPECT_DOUBLE_EQ(curve.at(1e8), 0.2);
  EXPECT_NEAR(curve.at(1e9), 0.5, 1e-12);
  EXPECT_NEAR(curve.at(1e10), 0.8, 1e-12);
  EXPECT_NEAR(curve.at(1e12), 0.7, 1e-12);
}

TEST(DeviceTextTest, roundTrip) {
  std::string error;
  for (const DeviceProfile &given : {defaultDevice(), device()}) {
    std::optional<DeviceProfile> read = parseDevice(deviceText(given), error);
    ASSERT_TRUE(read) << error;
    EXPECT_EQ(*read, given);
    EXPECT_EQ(deviceText(given).find(' '), std::string::npos);
  }
}

TEST(DeviceTextTest, refusals) {
  std::string text = deviceText(defaultDevice());
  auto refuse = [](std::string text) {
    std::string error;
    EXPECT_FALSE(parseDevice(text, error)) << text;
    return error;
  };
  auto with = [&](const std::string &key, const std::string &value) {
    size_t at = text.find(";" + key + ":") + 1;
    return text.substr(0, at) + key + ":" + value + text.substr(std::min(text.find(';', at), text.size()));
  };
  EXPECT_EQ(refuse("nothing"), "'nothing' is not key:value of a key not given before");
  EXPECT_EQ(refuse("name:x"), "memory_bytes: is missing");
  EXPECT_EQ(refuse(text + ";speed:1"), "there are keys that a device does not have");
  EXPECT_EQ(refuse(with("memory_bytes", "-1")), "memory_bytes: expected a number from 1e-12 to 1e24");
  EXPECT_EQ(refuse(with("memory_bytes", "inf")), "memory_bytes: expected a number from 1e-12 to 1e24");
  EXPECT_EQ(refuse(with("memory_bytes", "5")), "reserved_bytes must be less than memory_bytes");
  EXPECT_EQ(refuse(with("kernel_launch_seconds", "1 s")), "kernel_launch_seconds: expected a number");
  EXPECT_EQ(refuse(with("matrix_flops_per_second", "f32@1")),
            "matrix_flops_per_second: expected figures of f64, f32, bf16 and f16");
  EXPECT_EQ(
      refuse(with("matrix_efficiency", "1@0.5,1@0.6")),
      "matrix_efficiency: expected points [size, share] with sizes above 0 that ascend and shares from 0.0001 to 1");
  EXPECT_EQ(refuse(with("matrix_efficiency", "5")), "matrix_efficiency: expected points size@share");
}

} // namespace
