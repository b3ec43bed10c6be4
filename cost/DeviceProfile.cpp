//===- DeviceProfile.cpp - what a device can do ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/DeviceProfile.h"
#include <algorithm>
#include <cmath>

using namespace tgpt::cost;

double EfficiencyCurve::at(double size) const {
  auto above = std::find_if(points.begin(), points.end(), [&](const auto &point) { return point.first >= size; });
  if (above == points.begin())
    return points.front().second;
  if (above == points.end())
    return points.back().second;
  auto below = std::prev(above);
  double part = std::log(size / below->first) / std::log(above->first / below->first);
  return below->second + part * (above->second - below->second);
}

// The sources of these figures are in recipes/clusters/dgx-h100.yaml; a test compares the two.
const DeviceProfile &tgpt::cost::defaultDevice() {
  static const DeviceProfile device = {
      .name = "H100-SXM5-80GB",
      .memoryBytes = 84943715697,
      .reservedBytes = 504658657,
      .memoryBytesPerSecond = 3.35e12,
      .kernelLaunchSeconds = 4.8e-6,
      .matrixFlopsPerSecond = {{67e12, 67e12, 989e12, 989e12}},
      .vectorFlopsPerSecond = {{34e12, 67e12, 67e12, 67e12}},
      .matrixEfficiency = {{{1e8, 0.133}, {1e9, 0.399}, {3.16e9, 0.518}, {1e10, 0.697}, {3.16e10, 0.811}}},
      .attentionEfficiency = {{{1e9, 0.332}}},
      .memoryEfficiency = {{{1e6, 0.887}}},
  };
  return device;
}

const std::vector<DeviceField> &tgpt::cost::deviceFields() {
  static const std::vector<DeviceField> fields = {
      {"memory_bytes", "memory that a program can get", &DeviceProfile::memoryBytes},
      {"reserved_bytes", "memory of context and libraries", &DeviceProfile::reservedBytes, /*mayBeZero=*/true},
      {"memory_bytes_per_second", "peak of the memory", &DeviceProfile::memoryBytesPerSecond},
      {"kernel_launch_seconds", "fixed cost of a kernel", &DeviceProfile::kernelLaunchSeconds, /*mayBeZero=*/true},
      {"matrix_flops_per_second", "peak of matrix products", &DeviceProfile::matrixFlopsPerSecond},
      {"vector_flops_per_second", "peak of other kernels", &DeviceProfile::vectorFlopsPerSecond},
      {"matrix_efficiency", "share of the matrix peak, by operations", &DeviceProfile::matrixEfficiency},
      {"attention_efficiency", "share of the matrix peak in attention", &DeviceProfile::attentionEfficiency},
      {"memory_efficiency", "share of the memory's peak, by bytes", &DeviceProfile::memoryEfficiency},
  };
  return fields;
}

// With these bounds no time or sum of times leaves the range of a double or, in nanoseconds, of 63 bits.
std::string tgpt::cost::faultOf(const DeviceField &field, double figure) {
  bool isLegal = std::isfinite(figure) && figure <= 1e24 && (figure >= 1e-12 || (field.mayBeZero && figure == 0));
  if (isLegal)
    return "";
  return field.mayBeZero ? "expected 0 or a number from 1e-12 to 1e24" : "expected a number from 1e-12 to 1e24";
}

std::string tgpt::cost::faultOf(const EfficiencyCurve &curve) {
  const char *expected = "expected points [size, share] with sizes above 0 that ascend and shares from 0.0001 to 1";
  if (curve.points.empty())
    return expected;
  double last = 0;
  for (auto [size, share] : curve.points) {
    if (!std::isfinite(size) || size <= last || !(share >= 1e-4) || !(share <= 1))
      return expected;
    last = size;
  }
  return "";
}

std::string tgpt::cost::faultOf(const DeviceProfile &device) {
  return device.reservedBytes < device.memoryBytes ? "" : "reserved_bytes must be less than memory_bytes";
}
