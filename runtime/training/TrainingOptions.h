//===- runtime/training/TrainingOptions.h - what a run is asked to do -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_TRAININGOPTIONS_H
#define TGPT_RUNTIME_TRAINING_TRAININGOPTIONS_H

#include "runtime/data/TokenFile.h"
#include "runtime/launch/RankIdentity.h"
#include "runtime/training/LearningRate.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tgpt::runtime {

enum class KernelChoice { Cpu, Reference };
/// What ranks compute on: cores of the host, its GPUs, or emulated ones.
enum class DeviceChoice { Host, Cuda, CudaEmulated };

struct TrainingOptions {
  std::filesystem::path plan;
  bool planInfo = false; // print the plan's summary, train nothing

  // Data: one of the two.
  std::filesystem::path data;
  std::optional<uint64_t> syntheticSeed;
  std::optional<TokenWidth> rawTokenWidth;
  std::optional<int32_t> ignoreToken;
  std::optional<uint64_t> dataSeed; // by default that of the checkpoint, else 0

  int64_t steps = 100;
  LearningRate learningRate; // decaySteps 0: `steps`

  int threadsPerRank = 1;
  bool pinThreads = false;
  int communicationThreads = 1; // per rank
  KernelChoice kernels = KernelChoice::Cpu; // of ranks on the host
  DeviceChoice device = DeviceChoice::Host;
  bool usesGraphs = true;   // of ranks on devices
  bool syncsDevice = false; // the same: after each instruction
  std::string deviceKernels; // which kernels of devices are taken: options that ranks must agree on, a line each
  double watchdogSeconds = 60;
  LaunchKind launch = LaunchKind::Detect;
  std::optional<int64_t> gpus; // ranks to spawn here, a device each
  double rendezvousSeconds = 60; // that ranks which are processes wait for each other

  std::filesystem::path resume;
  std::filesystem::path initFrom;
  std::filesystem::path save;
  int64_t saveEvery = 0;
  bool allowNonfinite = false;

  std::filesystem::path metrics;
  std::filesystem::path dumpGradients;
  std::filesystem::path dumpVariables;
  int64_t logEvery = 10;
  bool profile = false;
  std::filesystem::path trace; // empty: none
  int64_t traceSteps = 1;      // the last ones
  bool measurePeak = true;

  /// Throws Error naming the option and its legal values.
  void validate() const;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_TRAININGOPTIONS_H
