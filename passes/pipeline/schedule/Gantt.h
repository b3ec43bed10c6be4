//===- Gantt.h - a schedule for people and for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row a stage, one column a unit of time, which every entry takes:
//
//   time     0  1  2  3  4  5  6  7  8
//   stage 0  F0|F1 .  B0 F2 B1|.  B2
//   stage 1  . |F0 B0 F1 B1 F2 B2|
//
// "|" is where the steady phase begins and where it ends.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SCHEDULE_GANTT_H
#define TGPT_PASSES_PIPELINE_SCHEDULE_GANTT_H

#include "passes/pipeline/schedule/Schedule.h"

namespace tgpt {

struct GanttStyle {
  int64_t width = 120;     ///< characters of a line; what does not fit is left out of the middle
  bool isColoured = false; ///< with the escape codes of terminals
};

/// The chart, the slots and the time of each stage, and its entries with their slots.
/// `title` says which schedule it is.
std::string scheduleText(const std::string &title, const PipelineShape &shape,
                         const std::vector<StageSchedule> &schedules, const GanttStyle &style);

/// One JSON object, ending in a newline.
std::string scheduleJson(const std::string &title, const PipelineShape &shape,
                         const std::vector<StageSchedule> &schedules);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SCHEDULE_GANTT_H
