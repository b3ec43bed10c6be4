//===- runtime/training/TrainingRun.h - a whole run, from options to reports ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_TRAININGRUN_H
#define TGPT_RUNTIME_TRAINING_TRAININGRUN_H

#include "runtime/plan/Error.h"
#include "runtime/training/TrainingOptions.h"

#include <functional>
#include <optional>
#include <ostream>

namespace tgpt::runtime {

/// Where a run prints, and how it is stopped.
struct Console {
  std::ostream &out;
  bool terminal = false;
  bool colour = false;
  std::function<bool()> stopRequested = {};
  /// Prints an error, of a run whose ranks are processes: one of them does.
  std::function<void(const Error &)> report = {};
  /// Of the others: for whoever started the ranks, should none of them print one.
  std::function<void(const Error &)> leaveUnsaid = [](const Error &) {};
};

/// Thrown in place of an error of a run whose ranks are processes: it was printed, here or by another of them.
struct AlreadyReported {};

/// Loads the plan and data, trains, saves and reports. Throws Error for bad input, a failed rank, or an arena whose
/// high-water mark is not what the plan says. With an identity this process is one rank, and prints if it is the first.
void runTraining(const TrainingOptions &options, const Console &console,
                 const std::optional<RankIdentity> &identity = {});

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_TRAININGRUN_H
