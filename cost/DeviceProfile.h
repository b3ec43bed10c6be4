//===- DeviceProfile.h - what a device can do ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures that times are made of, each with its unit in its name. Cluster files
// (recipes/clusters/*.yaml) hold them with their sources; without a file the built-in
// profile serves, which is that of recipes/clusters/dgx-h100.yaml.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_DEVICEPROFILE_H
#define TGPT_COST_DEVICEPROFILE_H

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tgpt::cost {

enum class Dtype { F64, F32, BF16, F16 };
inline constexpr std::array<const char *, 4> dtypeNames = {"f64", "f32", "bf16", "f16"};

/// A figure for each dtype.
struct ByDtype {
  std::array<double, 4> figures{};

  double operator[](Dtype dtype) const { return figures[static_cast<size_t>(dtype)]; }
  bool operator==(const ByDtype &) const = default;
};

/// The share of a peak that a kernel reaches, by its size (operations, or bytes).
/// Linear in the logarithm of the size between the points, constant beyond them.
struct EfficiencyCurve {
  std::vector<std::pair<double, double>> points; ///< (size, share in (0, 1]), sizes ascending; at least one

  double at(double size) const;
  bool operator==(const EfficiencyCurve &) const = default;
};

/// One device: what a rank computes with.
struct DeviceProfile {
  std::string name;
  double memoryBytes = 0;              ///< that a program can get
  double reservedBytes = 0;            ///< of these, what lies outside the plan: context, libraries
  double memoryBytesPerSecond = 0;     ///< peak
  double kernelLaunchSeconds = 0;      ///< what a kernel costs however little it does
  ByDtype matrixFlopsPerSecond;        ///< peak of matrix products
  ByDtype vectorFlopsPerSecond;        ///< peak of everything else
  EfficiencyCurve matrixEfficiency;    ///< of the matrix peak, by operations
  EfficiencyCurve attentionEfficiency; ///< of the matrix peak in fused attention, by operations
  EfficiencyCurve memoryEfficiency;    ///< of the memory's peak, by bytes moved

  /// Bytes that a rank's arena may take.
  double planBytes() const { return memoryBytes - reservedBytes; }
  bool operator==(const DeviceProfile &) const = default;
};

/// The profile that serves where none is given.
const DeviceProfile &defaultDevice();

/// A figure of the profile: its key in files, what it may be, and where it is kept.
struct DeviceField {
  using Member = std::variant<double DeviceProfile::*, ByDtype DeviceProfile::*, EfficiencyCurve DeviceProfile::*>;
  const char *key;
  const char *meaning;
  Member member;
  bool mayBeZero = false;
};

/// Every figure. One table for the files, the one-line form and their checks.
const std::vector<DeviceField> &deviceFields();

/// What is wrong with a figure, as "expected ..."; empty where nothing is.
std::string faultOf(const DeviceField &field, double figure);
std::string faultOf(const EfficiencyCurve &curve);
/// What is wrong with figures that must fit together; empty where nothing is.
std::string faultOf(const DeviceProfile &device);

} // namespace tgpt::cost

#endif // TGPT_COST_DEVICEPROFILE_H
