//===- Observation.h - a measured time beside the predicted one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_OBSERVATION_H
#define TGPT_VALIDATION_OBSERVATION_H

#include <cmath>
#include <string>
#include <vector>

namespace tgpt::validation {

/// One row of a table with what the model says of it: seconds, or bytes.
struct Observation {
  std::string table, row, label;
  std::string settings; ///< device, software and group: rows that share them are not independent
  bool heldOut = false;
  double measured = 0, predicted = 0;

  double error() const { return predicted / measured - 1; }
};

/// Mean and worst |error| of some observations.
struct Errors {
  int rows = 0;
  double mean = 0, worst = 0;

  void add(const Observation &observation) {
    double error = std::abs(observation.error());
    mean += (error - mean) / ++rows;
    worst = std::max(worst, error);
  }
};

/// The committed split: a hash of the group, odd held out. No fit reads a held-out row.
bool isHeldOut(const std::string &group);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_OBSERVATION_H
