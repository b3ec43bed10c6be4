//===- runtime/training/MetricsFile.h - a JSON line per step ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_METRICSFILE_H
#define TGPT_RUNTIME_TRAINING_METRICSFILE_H

#include "runtime/engine/JobFailure.h"
#include "runtime/training/StepReport.h"

#include <filesystem>
#include <fstream>

namespace tgpt::runtime {

/// {"step", "loss", "grad_norm", "lr", "tokens", "tokens_per_second", "step_seconds", "flops_share"} a line, flushed as
/// it comes, so that others can follow. Numbers print so that they read back to the same bits; a loss that is no number
/// prints as null.
class MetricsFile {
public:
  /// Starts the file anew, or keeps it (without the lines of later steps) when the run resumes after `firstStep` - 1
  /// steps.
  MetricsFile(std::filesystem::path path, int64_t firstStep);

  void write(const StepReport &report);
  /// What ended the run in a step: a line with "failed_step", "failure" ("rank failed" or "stuck") and "error", and a
  /// line for each place where ranks were, as in the table of the error. A run that resumes drops them.
  void write(const JobFailure &failure, int64_t step);

private:
  void writeLine(const std::string &line);

  std::filesystem::path path;
  std::ofstream file;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_METRICSFILE_H
