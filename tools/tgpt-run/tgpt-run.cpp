//===- tools/tgpt-run/tgpt-run.cpp - trains a compiled plan -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/JobFailure.h"
#include "runtime/launch/SpawnRanks.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/training/GemmPeak.h"
#include "runtime/training/ProcessMemory.h"
#include "runtime/training/TrainingDevice.h"
#include "runtime/training/TrainingRun.h"
#include "tools/tgpt-run/CommandLine.h"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

using namespace tgpt::runtime;

static volatile std::sig_atomic_t interrupted = 0; // the signal

/// The first interrupt ends the run after its step (and saves), a second one at once.
static void onInterrupt(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

static void flushOutput() {
  if (!std::cout.flush())
    throw Error("cannot write to stdout");
}

static void print(const Error &error) {
  std::cout << std::flush;
  std::cerr << "tgpt-run: error: " << error.what() << "\n";
  if (!error.details().empty())
    std::cerr << error.details() << "\n";
  std::cerr << std::flush;
}

/// Finds what is wrong with plan and options once, not in every rank.
static int spawn(const TrainingOptions &options, int argc, char **argv) {
  options.validate();
  options.learningRate.validate();
  tgpt::plan::Plan plan = loadPlan(options.plan.string());
  checkPlan(plan);
  checkSpawn(options, plan);
  return spawnRanks(RankGrid(plan.mesh()).ranks(), {argv, argv + argc}, std::cerr);
}

static int calibrate(const calibration::CalibrationRequest &request) {
  calibration::CalibrationOptions options;
  options.cores = availableCores();
  options.isQuick = request.isQuick;
  options.reservedBytes = static_cast<double>(reservedRankBytes());
  runCalibration(request, options, std::cout, std::cerr);
  flushOutput();
  return 0;
}

/// As one process of all ranks, or as one of them.
static int train(const TrainingOptions &options) {
  std::optional<RankIdentity> identity = identifyRank(options.launch, ::getenv);
  std::ostream nowhere(nullptr);
  bool isFirst = !identity || identity->rank == 0; // the one that talks
  bool terminal = isFirst && ::isatty(STDOUT_FILENO);
  std::signal(SIGINT, onInterrupt);
  std::signal(SIGTERM, onInterrupt);
  runTraining(options,
              {.out = isFirst ? std::cout : nowhere,
               .terminal = terminal,
               .colour = terminal && !std::getenv("NO_COLOR"),
               .stopRequested = [] { return interrupted != 0; },
               .report = print,
               .leaveUnsaid =
                   [&](const Error &error) {
                     if (identity && identity->isSpawned)
                       leaveUnsaid(error, std::cerr);
                   }},
              identity);
  flushOutput();
  return interrupted ? 128 + interrupted : 0; // as shells say it
}

static int run(int argc, char **argv) {
  CLI::App app("Trains the model of a compiled plan, or simulates a step of it.", "tgpt-run");
  app.set_version_flag("--version", "tgpt-run " TGPT_VERSION);
  tgpt::RunCommand command;
  tgpt::addOptions(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // help or version
    return app.exit(asked);
  } catch (const CLI::ParseError &error) {
    throw Error(std::string(error.what()) + " (see tgpt-run --help)");
  }
  command.settle(app);
  if (command.calibration.isAsked)
    return calibrate(command.calibration);
  if (command.backend == tgpt::Backend::Sim) {
    sim::runSimulation(command.simulation, std::cout);
    flushOutput();
    return 0;
  }
  const TrainingOptions &options = command.training;
  if (options.launch == LaunchKind::Spawn && !options.planInfo && !isSpawned(::getenv))
    return spawn(options, argc, argv);
  return train(options);
}

int main(int argc, char **argv) try { return run(argc, argv); } catch (const JobFailure &failure) {
  print(failure);
  if (failure.hasLostThreads())
    std::_Exit(1); // one of them may still use what destructors would take away
  return 1;
} catch (const AlreadyReported &) {
  return interrupted ? 128 + interrupted : 1;
} catch (const Error &error) {
  print(error);
  return 1;
} catch (const std::exception &error) {
  print(Error(error.what()));
  return 1;
}
