//===- CalibrationFile.h - a calibration as a cluster file ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CALIBRATION_CALIBRATIONFILE_H
#define TGPT_RUNTIME_CALIBRATION_CALIBRATIONFILE_H

#include "runtime/calibration/Calibration.h"

#include <filesystem>
#include <ostream>

namespace tgpt::runtime::calibration {

/// A cluster file; every figure says where it is from.
std::string calibrationText(const Calibration &calibration);

/// What `tgpt-run --calibrate` is asked for.
struct CalibrationRequest {
  bool isAsked = false;
  bool isQuick = false;
  std::filesystem::path output; ///< empty: to `out`
};

/// Measures, writes the file and prints what it found; progress goes to `progress`. Throws Error, and then nothing is
/// written.
void runCalibration(const CalibrationRequest &request, const CalibrationOptions &options, std::ostream &out,
                    std::ostream &progress);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_CALIBRATIONFILE_H
