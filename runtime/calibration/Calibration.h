//===- Calibration.h - measures this machine ------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures tgpt's own cpu kernels and collectives, as the engine calls them, and makes of
// it what a cluster file holds: the coarse figures of a device (peaks, curves, one link)
// and the rates of every kernel and exchange (cost/MeasuredRates.h). Nothing is looked up
// or assumed but the bytes of this machine's memory.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CALIBRATION_CALIBRATION_H
#define TGPT_RUNTIME_CALIBRATION_CALIBRATION_H

#include "cost/cluster/Cluster.h"

#include <functional>
#include <string>
#include <vector>

namespace tgpt::runtime::calibration {

struct CalibrationOptions {
  int64_t cores = 1;        ///< that this process may run on
  bool isQuick = false;     ///< the smallest sizes, a few times: to try things out
  double reservedBytes = 0; ///< of a rank, outside of its arena
  /// Called before each group of measurements: what, and the share of all that is done.
  std::function<void(const std::string &what, double share)> onProgress = [](const std::string &, double) {};
};

/// What a figure of the result rests on.
struct Quality {
  int calls = 0;       ///< measured sizes
  int repetitions = 0; ///< of which each is the median, at least
  double spread = 0;   ///< the mean of the samples' spreads
  double fitError = 0; ///< the mean relative error of the fit over the sizes
};

struct Calibration {
  cost::Cluster cluster;
  std::string processor;                                 ///< "AMD EPYC"
  std::string date;                                      ///< "2026-11-30"
  std::map<std::string, Quality, std::less<>> kernels;   ///< "linear f32"
  std::map<std::string, Quality, std::less<>> exchanges; ///< "all_reduce 2"
  Quality device;                                        ///< of peaks and curves

  double meanSpread() const;
  double worstSpread() const;
};

/// Takes about 40 seconds, a quick one about one. Throws Error where a kernel refuses to be measured.
Calibration calibrate(const CalibrationOptions &options);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_CALIBRATION_H
