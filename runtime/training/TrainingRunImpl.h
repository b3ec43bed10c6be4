//===- TrainingRunImpl.h - the steps of a whole run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RunSetUp.cpp prepares it, TrainingRun.cpp trains, RunReports.cpp writes and prints what came of it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_TRAINING_TRAININGRUNIMPL_H
#define TGPT_RUNTIME_TRAINING_TRAININGRUNIMPL_H

#include "runtime/checkpoint/TrainingState.h"
#include "runtime/data/Batches.h"
#include "runtime/engine/DeviceBackend.h"
#include "runtime/engine/Job.h"
#include "runtime/launch/ProcessTeam.h"
#include "runtime/training/ProcessMemory.h"
#include "runtime/training/TrainingLoop.h"
#include "runtime/training/TrainingRun.h"

namespace tgpt::runtime {

/// One run; its methods are called in order.
class TrainingRun {
public:
  TrainingRun(const TrainingOptions &options, const Console &console, const std::optional<RankIdentity> &identity)
      : options(options), console(console), identity(identity),
        kernels(options.kernels == KernelChoice::Cpu ? cpuKernels() : referenceKernels()) {}

  void execute();
  /// Tells the other processes, and prints the error here or lets another do it. Throws AlreadyReported.
  [[noreturn]] void reportFrom(const Error &error);
  bool hasProcesses() const { return processes != nullptr; }

private:
  bool isFirst() const { return !identity || identity->rank == 0; }
  void meetOthers();
  void findStart();
  void openData();
  void makeJob();
  void setVariables();
  void prepareSaving();
  void train();
  double measurePeak();
  LoopSettings loopSettings();
  void measureMemory();
  void dump();
  void writeTrace();
  void report();

  const TrainingOptions &options;
  const Console &console;
  const std::optional<RankIdentity> &identity;
  std::unique_ptr<ProcessTeam> processes;      // null: ranks are threads
  KernelSet kernels;                           // of ranks on the host
  std::shared_ptr<const DeviceBackend> device; // null: ranks compute on the host
  plan::Plan loaded;                           // moved into the job
  TrainingState state;
  std::filesystem::path checkpoint; // resumed from; empty: a fresh start
  int64_t firstStep = 1;
  ProcessMemory memory; // after the last step
  double tokensOfLastStep = 0, lossScaleOfLastStep = 1;
  std::unique_ptr<TokenSource> source;
  std::unique_ptr<Batches> batches;
  std::unique_ptr<Job> job;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_TRAININGRUNIMPL_H
