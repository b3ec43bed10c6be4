//===- SimulatedStep.h - what a step takes, by prediction ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks of a pipeline stage do the same at the same time, so there is one record a stage,
// that of its first rank. Every second of a rank's step is one of
//
//   computing     kernels, slowed down where communication runs beside them or ranks share cores
//   exposed       collectives and messages that the rank itself takes part in or waits for
//   idle          nothing to do yet: the bubble; and waiting for the last rank to end
//   overhead      host work of a step, the cluster file's figure
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_SIMULATEDSTEP_H
#define TGPT_RUNTIME_SIM_SIMULATEDSTEP_H

#include "runtime/trace/InstructionEvent.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tgpt::runtime::sim {

/// What is communicated: within tp groups, over dp, or between stages.
enum class Traffic { Tensor, Data, Pipeline };
inline constexpr std::array<const char *, 3> trafficNames = {"tp", "dp", "pp"};

struct ByTraffic {
  std::array<double, 3> seconds{};

  double &operator[](Traffic traffic) { return seconds[static_cast<size_t>(traffic)]; }
  double operator[](Traffic traffic) const { return seconds[static_cast<size_t>(traffic)]; }
  double total() const { return seconds[0] + seconds[1] + seconds[2]; }
};

/// An entry of a stage's schedule: from its first work (what it waits for before that is not in it) to its end.
struct EntrySeconds {
  double begin = 0, end = 0;
};

/// One rank of a stage, for all of them.
struct RankSeconds {
  int64_t rank = 0;      ///< the first of the stage
  double computing = 0;  ///< in kernels
  double slowedDown = 0; ///< of these: what they would take less if the rank were alone
  ByTraffic exposed;
  ByTraffic beside; ///< communication beside computation: what its streams are busy
  double idle = 0;
  double end = 0;                    ///< when the rank is through its schedule
  std::vector<EntrySeconds> entries; ///< of the stage's schedule

  double busy() const { return computing + exposed.total(); }
};

struct SimulatedStep {
  double seconds = 0;         ///< of the step, overhead included
  double overheadSeconds = 0; ///< behind the last instruction: host work of a step
  double modelFlopsShare = 0; ///< MFU: model operations over what all devices could do at their matrix peak
  double tokensPerSecond = 0;
  int64_t ranks = 0;
  int64_t ranksPerStage = 0;
  std::vector<RankSeconds> stages;
  /// With SimulationOptions::recordsEvents: every instruction of the first rank of each stage, by stage and end.
  std::vector<InstructionEvent> events;

  /// Means over ranks.
  double meanComputing() const;
  double meanSlowedDown() const;
  double meanIdle() const;
  double meanExposed(Traffic traffic) const;
  double meanBeside(Traffic traffic) const;
  /// Idle time over the time that ranks are busy, in the mean: (p - 1) / m for a plain pipeline of equal stages.
  double bubble() const;

private:
  template <typename Figure> double mean(const Figure &figure) const {
    double sum = 0;
    for (const RankSeconds &stage : stages)
      sum += figure(stage);
    return stages.empty() ? 0 : sum / static_cast<double>(stages.size());
  }
};

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_SIMULATEDSTEP_H
