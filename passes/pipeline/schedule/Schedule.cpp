//===- Schedule.cpp - the order in which pipeline stages do their work ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/Schedule.h"
#include "passes/pipeline/schedule/WorkOrder.h"
#include <algorithm>
#include <numeric>

using namespace tgpt;

static constexpr std::string_view kindLetters = "FBW";

std::string ScheduleEntry::workToString() const {
  return kindLetters[static_cast<int>(kind)] + std::to_string(microBatch) +
         (chunk == 0 ? "" : "." + std::to_string(chunk));
}

std::string ScheduleEntry::toString() const {
  return workToString() + "@" + std::to_string(slot);
}

const std::vector<std::string> &tgpt::scheduleKindNames() {
  static const std::vector<std::string> names = {"gpipe", "1f1b", "zero-bubble"};
  return names;
}

std::string tgpt::scheduleKindChoices() {
  std::string text;
  const std::vector<std::string> &names = scheduleKindNames();
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::optional<ScheduleKind> tgpt::parseScheduleKind(std::string_view name) {
  const std::vector<std::string> &names = scheduleKindNames();
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<ScheduleKind>(found - names.begin());
}

std::vector<ScheduleEntry> StageSchedule::entries() const {
  std::vector<ScheduleEntry> all = warmUp;
  all.insert(all.end(), steady.begin(), steady.end());
  all.insert(all.end(), coolDown.begin(), coolDown.end());
  return all;
}

int64_t StageSchedule::countSlots() const {
  return std::accumulate(slots.begin(), slots.end(), int64_t(0));
}

static std::vector<WorkOrder> orderOf(ScheduleKind kind, const PipelineShape &shape) {
  switch (kind) {
  case ScheduleKind::GPipe: return orderGPipe(shape);
  case ScheduleKind::OneForwardOneBackward:
    return shape.chunks == 1 ? orderOneForwardOneBackward(shape) : orderInterleaved(shape);
  case ScheduleKind::ZeroBubble: return orderZeroBubble(shape);
  }
  return {};
}

/// The stages that have work in any chunk.
static std::vector<int64_t> stagesWithWork(const PipelineShape &shape) {
  std::vector<int64_t> stages;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      if (shape.hasWork(shape.virtualStage(stage, chunk))) {
        stages.push_back(stage);
        break;
      }
  return stages;
}

/// The pipeline of these stages only.
static PipelineShape narrowed(const PipelineShape &shape, const std::vector<int64_t> &stages) {
  PipelineShape narrow{static_cast<int64_t>(stages.size()), shape.chunks, shape.microBatches};
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
    for (int64_t stage : stages) {
      int64_t v = shape.virtualStage(stage, chunk);
      narrow.isEmpty.push_back(!shape.hasWork(v));
      narrow.keepsBackwardWhole.push_back(!shape.splitsBackward(v));
    }
  return narrow;
}

static std::vector<StageSchedule> scheduleBusyStages(ScheduleKind kind, const PipelineShape &shape) {
  std::vector<StageSchedule> schedules;
  for (WorkOrder &order : orderOf(kind, shape)) {
    StageSchedule &schedule = schedules.emplace_back();
    schedule.slots = assignSlots(order.entries, shape.chunks);
    auto begin = order.entries.begin(), end = order.entries.end();
    schedule.warmUp.assign(begin, begin + order.steadyBegin);
    schedule.steady.assign(begin + order.steadyBegin, begin + order.coolDownBegin);
    schedule.coolDown.assign(begin + order.coolDownBegin, end);
  }
  return schedules;
}

std::vector<StageSchedule> tgpt::makeSchedule(ScheduleKind kind, const PipelineShape &shape) {
  // The pipeline is as deep as there are stages with work.
  std::vector<int64_t> busy = stagesWithWork(shape);
  if (static_cast<int64_t>(busy.size()) == shape.stages)
    return scheduleBusyStages(kind, shape);
  std::vector<StageSchedule> all(shape.stages);
  for (StageSchedule &schedule : all)
    schedule.slots.assign(shape.chunks, 0);
  if (busy.empty())
    return all;
  std::vector<StageSchedule> ofBusy = scheduleBusyStages(kind, narrowed(shape, busy));
  for (size_t i = 0; i < busy.size(); ++i)
    all[busy[i]] = std::move(ofBusy[i]);
  return all;
}
