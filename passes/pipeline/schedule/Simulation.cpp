//===- Simulation.cpp - when each entry of a schedule runs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/Simulation.h"
#include <algorithm>
#include <deque>

using namespace tgpt;

double Timeline::busy(int64_t stage) const {
  double sum = 0;
  for (const TimedEntry &timed : stages[stage])
    sum += timed.end - timed.begin;
  return sum;
}

double Timeline::bubble() const {
  double work = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    work += busy(static_cast<int64_t>(stage));
  return work == 0 ? 0 : (makespan * static_cast<double>(stages.size()) - work) / work;
}

namespace {

class Simulation {
public:
  Simulation(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
             const std::vector<WorkTimes> &times)
      : shape(shape), times(times), forwardEnd(shape.virtualStages() * shape.microBatches, notDone),
        backwardEnd(forwardEnd), isSplit(shape.virtualStages(), false), next(schedules.size(), 0) {
    for (const StageSchedule &schedule : schedules)
      entries.push_back(schedule.entries());
    for (size_t stage = 0; stage < entries.size(); ++stage)
      for (const ScheduleEntry &entry : entries[stage])
        if (entry.kind == WorkKind::WeightGradient)
          isSplit[at(stage, entry)] = true;
    findNeighbours();
  }

  Timeline run() {
    timeline.stages.resize(entries.size());
    // A stage is visited again when a neighbour in the pipeline has moved.
    std::deque<size_t> toVisit;
    for (size_t stage = 0; stage < entries.size(); ++stage)
      toVisit.push_back(stage);
    std::vector<bool> isQueued(entries.size(), true);
    while (!toVisit.empty()) {
      size_t stage = toVisit.front();
      toVisit.pop_front();
      isQueued[stage] = false;
      bool moved = false;
      while (step(stage))
        moved = true;
      for (size_t other = 0; moved && other < entries.size(); ++other)
        if (!isQueued[other] && next[other] < entries[other].size()) {
          isQueued[other] = true;
          toVisit.push_back(other);
        }
    }
    timeline.isComplete = true;
    for (size_t stage = 0; stage < entries.size(); ++stage)
      timeline.isComplete = timeline.isComplete && next[stage] == entries[stage].size();
    return std::move(timeline);
  }

private:
  static constexpr double notDone = -1;

  int64_t at(size_t stage, const ScheduleEntry &entry) const {
    return shape.virtualStage(static_cast<int64_t>(stage), entry.chunk);
  }
  double &endOf(std::vector<double> &ends, int64_t virtualStage, int64_t microBatch) {
    return ends[virtualStage * shape.microBatches + microBatch];
  }

  /// The virtual stages with work before and after each.
  void findNeighbours() {
    before.assign(shape.virtualStages(), -1);
    after = before;
    int64_t last = -1;
    for (int64_t v = 0; v < shape.virtualStages(); ++v) {
      if (!shape.hasWork(v))
        continue;
      before[v] = last;
      if (last >= 0)
        after[last] = v;
      last = v;
    }
  }

  /// When what the entry needs is there; notDone where it is not yet known.
  double readyAt(int64_t v, const ScheduleEntry &entry) {
    if (entry.kind == WorkKind::Forward)
      return before[v] < 0 ? 0 : endOf(forwardEnd, before[v], entry.microBatch);
    if (entry.kind == WorkKind::WeightGradient)
      return endOf(backwardEnd, v, entry.microBatch);
    double own = endOf(forwardEnd, v, entry.microBatch);
    if (own == notDone || after[v] < 0)
      return own;
    double gradient = endOf(backwardEnd, after[v], entry.microBatch);
    return gradient == notDone ? notDone : std::max(own, gradient);
  }

  double durationOf(int64_t v, WorkKind kind) const {
    const WorkTimes &time = times.size() == 1 ? times.front() : times[v];
    switch (kind) {
    case WorkKind::Forward: return time.forward;
    case WorkKind::Backward: return time.backward + (isSplit[v] ? 0 : time.weightGradient);
    case WorkKind::WeightGradient: return time.weightGradient;
    }
    return 0;
  }

  bool step(size_t stage) {
    if (next[stage] == entries[stage].size())
      return false;
    const ScheduleEntry &entry = entries[stage][next[stage]];
    int64_t v = at(stage, entry);
    double ready = readyAt(v, entry);
    if (ready == notDone)
      return false;
    std::vector<TimedEntry> &done = timeline.stages[stage];
    double begin = std::max(ready, done.empty() ? 0 : done.back().end);
    double end = begin + durationOf(v, entry.kind);
    if (entry.kind == WorkKind::Forward)
      endOf(forwardEnd, v, entry.microBatch) = end;
    if (entry.kind == WorkKind::Backward)
      endOf(backwardEnd, v, entry.microBatch) = end;
    done.push_back({entry, begin, end});
    timeline.makespan = std::max(timeline.makespan, end);
    ++next[stage];
    return true;
  }

  const PipelineShape &shape;
  const std::vector<WorkTimes> &times;
  std::vector<std::vector<ScheduleEntry>> entries;
  std::vector<double> forwardEnd, backwardEnd; ///< by virtual stage and micro-batch
  std::vector<bool> isSplit;                   ///< by virtual stage
  std::vector<int64_t> before, after;          ///< by virtual stage
  std::vector<size_t> next;
  Timeline timeline;
};

} // namespace

std::vector<WorkTimes> tgpt::unitTimes(const PipelineShape &shape, const std::vector<StageSchedule> &schedules) {
  std::vector<WorkTimes> times(shape.virtualStages());
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (const ScheduleEntry &entry : schedules[stage].entries())
      if (entry.kind == WorkKind::WeightGradient)
        times[shape.virtualStage(stage, entry.chunk)].weightGradient = 1;
  return times;
}

Timeline tgpt::simulate(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
                        const std::vector<WorkTimes> &times) {
  return Simulation(shape, schedules, times).run();
}
