//===- tools/tgpt-run/CommandLine.h - the options of tgpt-run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H
#define TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H

#include "runtime/calibration/CalibrationFile.h"
#include "runtime/sim/SimulationRun.h"
#include "runtime/training/TrainingOptions.h"

#include <CLI/CLI.hpp>

namespace tgpt {

/// What executes a plan.
enum class Backend { Cpu, Cuda, CudaEmulated, Sim };

/// All that tgpt-run may be asked for.
struct RunCommand {
  Backend backend = Backend::Cpu;
  runtime::TrainingOptions training;
  runtime::sim::SimulationRequest simulation;
  runtime::calibration::CalibrationRequest calibration;

  /// What both backends have, once parsing is done. Throws runtime::Error for an option that the backend has no use
  /// for.
  void settle(const CLI::App &app);
};

/// Adds every option of tgpt-run to `app`; parsing fills `command`, which must outlive it.
void addOptions(CLI::App &app, RunCommand &command);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H
