//===- DeviceText.h - a device profile in one line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass takes a profile as an option, so that a pipeline prints and replays:
//
//   name:cpu;memory_bytes:4e9;...;matrix_flops_per_second:f64@4e10,f32@9e10,...;matrix_efficiency:1e8@0.2,1e9@0.9;...
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_DEVICETEXT_H
#define TGPT_COST_DEVICETEXT_H

#include "cost/DeviceProfile.h"
#include <optional>

namespace tgpt::cost {

/// The profile in one line without spaces; `parseDevice` gives the same profile back.
std::string deviceText(const DeviceProfile &device);

/// Reads what `deviceText` writes: every key once. None with `error` set where it is not that.
std::optional<DeviceProfile> parseDevice(const std::string &text, std::string &error);

/// The shortest text that gives the same number back.
std::string exact(double value);

/// The whole of `text` as a number, or none.
std::optional<double> parseNumber(const std::string &text);

} // namespace tgpt::cost

#endif // TGPT_COST_DEVICETEXT_H
