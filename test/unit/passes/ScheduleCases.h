//===- ScheduleCases.h - the pipelines that the schedule tests go through ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1 to 8 stages, 1 to 3 chunks, 1 to 2 * stages + 1 and 8 * stages micro-batches, all kinds
// of schedules; and the same with virtual stages that have no work.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PASSES_SCHEDULECASES_H
#define TGPT_TEST_UNIT_PASSES_SCHEDULECASES_H

#include "passes/pipeline/schedule/Channels.h"
#include "passes/pipeline/schedule/Schedule.h"
#include <random>

namespace tgpt {

struct ScheduleCase {
  ScheduleKind kind;
  PipelineShape shape;

  std::string toString() const {
    std::string text = scheduleKindNames()[static_cast<int>(kind)] + " pp=" + std::to_string(shape.stages) +
                       " chunks=" + std::to_string(shape.chunks) + " m=" + std::to_string(shape.microBatches);
    for (int64_t v = 0; v < shape.virtualStages(); ++v)
      text += shape.hasWork(v) ? "" : " -" + std::to_string(v);
    return text;
  }
};

inline std::vector<ScheduleCase> allCases(int64_t mostStages = 8) {
  std::vector<ScheduleCase> cases;
  for (int64_t stages = 1; stages <= mostStages; ++stages)
    for (int64_t chunks = 1; chunks <= 3; ++chunks)
      for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::ZeroBubble}) {
        for (int64_t microBatches = 1; microBatches <= 2 * stages + 1; ++microBatches)
          cases.push_back({kind, {stages, chunks, microBatches}});
        cases.push_back({kind, {stages, chunks, 8 * stages}});
      }
  return cases;
}

/// The cases with about a third of the virtual stages empty, and a third whose backward is whole.
inline std::vector<ScheduleCase> casesWithEmptyStages() {
  std::mt19937_64 random(1);
  std::vector<ScheduleCase> cases = allCases(5);
  for (ScheduleCase &each : cases)
    for (int64_t v = 0; v < each.shape.virtualStages(); ++v) {
      each.shape.isEmpty.push_back(random() % 3 == 0);
      each.shape.keepsBackwardWhole.push_back(random() % 3 == 0);
    }
  return cases;
}

inline bool isSplit(const ScheduleCase &which, int64_t virtualStage) {
  return which.kind == ScheduleKind::ZeroBubble && which.shape.splitsBackward(virtualStage);
}

/// Values between virtual stages with work: to the next one only, or with `skips` to all of them.
inline std::vector<Transfer> transfersOf(const PipelineShape &shape, bool skips) {
  std::vector<int64_t> working;
  for (int64_t v = 0; v < shape.virtualStages(); ++v)
    if (shape.hasWork(v))
      working.push_back(v);
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < working.size(); ++i)
    for (size_t j = i + 1; j < working.size() && (skips || j == i + 1); ++j) {
      transfers.push_back({WorkKind::Forward, working[i], working[j]});
      transfers.push_back({WorkKind::Backward, working[j], working[i]});
    }
  return transfers;
}

} // namespace tgpt

#endif // TGPT_TEST_UNIT_PASSES_SCHEDULECASES_H
