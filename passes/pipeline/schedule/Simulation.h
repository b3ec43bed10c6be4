//===- Simulation.h - when each entry of a schedule runs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the stages' schedules against each other: an entry begins when the one before it on
// its stage is done and what it needs is there. Messages take no time and always find room.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_SIMULATION_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_SIMULATION_H

#include "passes/pipeline/schedule/Schedule.h"

namespace tgpt {

/// How long one micro-batch takes on a virtual stage, in any unit. A backward that is not
/// split takes the time of its weight gradient as well.
struct WorkTimes {
  double forward = 1, backward = 1, weightGradient = 0;
};

/// An entry and when it runs.
struct TimedEntry {
  ScheduleEntry entry;
  double begin = 0, end = 0;
};

struct Timeline {
  std::vector<std::vector<TimedEntry>> stages; ///< entries that ran, in order
  double makespan = 0;                         ///< until the last one is done
  bool isComplete = false;                     ///< false: stages wait for each other in a circle

  double busy(int64_t stage) const;
  /// Time that all stages wait over the time that they work; with equal stages what a step
  /// takes longer than one without waiting.
  double bubble() const;
};

/// Times with which every entry of the schedules takes one unit.
std::vector<WorkTimes> unitTimes(const PipelineShape &shape, const std::vector<StageSchedule> &schedules);

/// `times` has an element for each virtual stage, or one for all.
Timeline simulate(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
                  const std::vector<WorkTimes> &times);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_SIMULATION_H
