//===- PublishedRun.h - a published measurement, as the model's input ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_PUBLISHEDRUN_H
#define TGPT_VALIDATION_PUBLISHEDRUN_H

#include "cost/ModelShape.h"
#include "validation/Constants.h"
#include "validation/Observation.h"
#include <string>
#include <vector>

namespace tgpt::validation {

/// One row of a published table: what was run, on what, and how long it took.
struct PublishedRun {
  std::string table, row, label;
  std::string group;                     ///< rows of one group are all fitted or all held out
  std::string device, cluster, software; ///< names in constants.csv
  cost::ModelShape shape;
  cost::Execution run;
  double layersMeasured = 0; ///< the time is that of so many layers, forward and backward; 0: of a whole step
  double measuredSeconds = 0;
  double peakBytes = 0; ///< of the fullest rank; 0: not printed
  cost::StateBytes states;
  bool isReserved = false; ///< the peak is what an allocator has reserved
  std::string leftOut;     ///< why the row says nothing about the model; empty where it does

  double predictedSeconds(const Constants &constants) const;
};

/// All rows of the published tables of step times under `folder`; excluded.csv beside it says why rows are left out.
std::vector<PublishedRun> readRuns(const std::string &folder, const std::string &excludedPath);

/// Steps of all tables in `folder`, those left out aside.
std::vector<Observation> observeSteps(const std::string &folder, const Constants &constants);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_PUBLISHEDRUN_H
