//===- runtime/training/TrainingOptions.cpp - what a run is asked to do -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingOptions.h"

#include "runtime/plan/Error.h"

using namespace tgpt::runtime;
namespace fs = std::filesystem;

static void requireAtLeast(int64_t least, int64_t value, const char *option) {
  if (value < least)
    throw Error(std::string(option) + " is " + std::to_string(value) + ", expected " + std::to_string(least) +
                " or more");
}

/// A run of hours must not find out at its end that it cannot write.
static void requireFolderOf(const fs::path &file, const char *option) {
  if (file.empty())
    return;
  std::error_code ignored;
  fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored))
    throw Error(std::string(option) + " '" + file.string() + "': there is no folder '" + folder.string() + "'");
  if (fs::is_directory(file, ignored))
    throw Error(std::string(option) + " '" + file.string() + "' is a directory, expected a file name");
}

void TrainingOptions::validate() const {
  requireAtLeast(0, steps, "--steps");
  requireAtLeast(1, threadsPerRank, "--threads");
  if (communicationThreads != 0 && communicationThreads != 1)
    throw Error("--communication-threads is " + std::to_string(communicationThreads) + ", expected 0 or 1");
  requireAtLeast(1, logEvery, "--log-every");
  requireAtLeast(0, saveEvery, "--save-every");
  if (!(watchdogSeconds > 0))
    throw Error("--watchdog-seconds is " + std::to_string(watchdogSeconds) + ", expected seconds above 0");
  if (!(rendezvousSeconds > 0))
    throw Error("--rendezvous-seconds is " + std::to_string(rendezvousSeconds) + ", expected seconds above 0");
  if (data.empty() && !syntheticSeed && steps > 0)
    throw Error("no data given: add --data=corpus.bin (packed with tgpt-data) or --synthetic=SEED");
  if (!data.empty() && syntheticSeed)
    throw Error("--data and --synthetic exclude each other");
  if (saveEvery > 0 && save.empty())
    throw Error("--save-every=" + std::to_string(saveEvery) + " needs --save=DIR");
  if (!resume.empty() && !initFrom.empty())
    throw Error("--resume and --init-from exclude each other");
  if (!dumpGradients.empty() && steps == 0)
    throw Error("--dump-gradients needs --steps of 1 or more");
  requireFolderOf(metrics, "--metrics");
  requireFolderOf(trace, "--trace");
  requireAtLeast(1, traceSteps, "--trace-steps");
  if (!trace.empty() && steps == 0)
    throw Error("--trace needs --steps of 1 or more");
  requireFolderOf(dumpGradients, "--dump-gradients");
  requireFolderOf(dumpVariables, "--dump-variables");
}
