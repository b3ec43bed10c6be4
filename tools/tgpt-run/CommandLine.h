//===- tools/tgpt-run/CommandLine.h - the options of tgpt-run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H
#define TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H

#include "runtime/training/TrainingOptions.h"

#include <CLI/CLI.hpp>

namespace tgpt {

/// Adds every option of tgpt-run to `app`; parsing fills `options`, which must outlive it.
void addOptions(CLI::App &app, runtime::TrainingOptions &options);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_RUN_COMMANDLINE_H
