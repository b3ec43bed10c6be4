//===- Sample.h - the median of some measurements -------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CALIBRATION_SAMPLE_H
#define TGPT_RUNTIME_CALIBRATION_SAMPLE_H

#include <vector>

namespace tgpt::runtime::calibration {

/// The median (or the lower quartile) of `count` measurements of one thing, and how far they lie apart.
struct Sample {
  double seconds = 0;
  double spread = 0; ///< half of what lies between the first and the third quartile, over `seconds`
  int count = 0;
};

/// Of at least one measurement: the median.
Sample sampleOf(std::vector<double> seconds);
/// The lower quartile: of what several threads do together, which any other process lengthens and nothing shortens.
Sample lowerQuartileOf(std::vector<double> seconds);

/// What a measurement may take, and how often it is repeated at most.
struct SampleBudget {
  double seconds = 0.02;
  int most = 15;
  int least = 5;
};

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_SAMPLE_H
