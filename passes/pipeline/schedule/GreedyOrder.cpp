//===- GreedyOrder.cpp - schedules by running the pipeline once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/GreedyOrder.h"
#include <algorithm>
#include <limits>

using namespace tgpt;

namespace {

/// All stages at one moment.
class GreedyRun {
public:
  GreedyRun(const PipelineShape &shape, const ChunkOrder &order, const GreedyLimits &limits)
      : shape(shape), order(order), limits(limits), stages(shape.stages),
        forwardEnd(shape.virtualStages() * shape.microBatches, never), backwardEnd(forwardEnd) {
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      setHoldingLimits(stage);
  }

  GreedyResult run() {
    while (!isDone()) {
      skipWorkOfEmpty();
      for (int64_t stage = 0; stage < shape.stages; ++stage)
        chosen.push_back(choose(stage));
      for (int64_t stage = 0; stage < shape.stages; ++stage)
        if (chosen[stage])
          execute(stage, *chosen[stage], now + 1);
      chosen.clear();
      ++now;
    }
    GreedyResult result;
    result.units = lastEnd;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      result.stages.push_back(finishOrder(shape, stage, stages[stage].done, limits.mostAhead[stage] - 1));
    return result;
  }

private:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  struct Stage {
    size_t forwards = 0, backwards = 0, weightGradients = 0; ///< done, as positions in the order
    std::vector<ScheduleEntry> done;
    std::vector<int64_t> held, mostHeld; ///< per chunk
  };

  bool hasWork(int64_t stage, const ScheduleEntry &entry) const {
    return shape.hasWork(shape.virtualStage(stage, entry.chunk));
  }
  bool isSplit(int64_t stage, const ScheduleEntry &entry) const {
    return limits.splitsBackward && shape.splitsBackward(shape.virtualStage(stage, entry.chunk));
  }
  int64_t &endOf(std::vector<int64_t> &ends, int64_t virtualStage, int64_t microBatch) {
    return ends[virtualStage * shape.microBatches + microBatch];
  }

  /// The limits asked for, or what the order needs at least: see GreedyOrder.h.
  void setHoldingLimits(int64_t stage) {
    Stage &state = stages[stage];
    state.held.assign(shape.chunks, 0);
    if (limits.mostHeld.empty()) {
      state.mostHeld.assign(shape.chunks, never);
      return;
    }
    std::vector<size_t> position(shape.chunks * shape.microBatches);
    for (size_t i = 0; i < order.forwards.size(); ++i)
      position[order.forwards[i].chunk * shape.microBatches + order.forwards[i].microBatch] = i;
    std::vector<int64_t> held(shape.chunks, 0);
    state.mostHeld = limits.mostHeld[stage];
    size_t forwards = 0;
    for (const ScheduleEntry &backward : order.backwards) {
      for (size_t own = position[backward.chunk * shape.microBatches + backward.microBatch]; forwards <= own;
           ++forwards)
        ++held[order.forwards[forwards].chunk];
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
        state.mostHeld[chunk] = std::max(state.mostHeld[chunk], held[chunk]);
      --held[backward.chunk];
    }
  }

  bool isDone() const {
    return std::all_of(stages.begin(), stages.end(), [&](const Stage &stage) {
      return stage.backwards == order.backwards.size() && stage.weightGradients == order.backwards.size();
    });
  }

  bool isForwardReady(int64_t stage, const ScheduleEntry &entry) {
    int64_t at = shape.virtualStage(stage, entry.chunk);
    return at == 0 || endOf(forwardEnd, at - 1, entry.microBatch) <= now;
  }

  bool isBackwardReady(int64_t stage, const ScheduleEntry &entry) {
    int64_t at = shape.virtualStage(stage, entry.chunk);
    return endOf(forwardEnd, at, entry.microBatch) <= now &&
           (at == shape.virtualStages() - 1 || endOf(backwardEnd, at + 1, entry.microBatch) <= now);
  }

  std::optional<ScheduleEntry> nextForward(int64_t stage) {
    const Stage &state = stages[stage];
    if (state.forwards == order.forwards.size() ||
        static_cast<int64_t>(state.forwards - state.backwards) >= limits.mostAhead[stage])
      return std::nullopt;
    const ScheduleEntry &entry = order.forwards[state.forwards];
    bool hasRoom = !hasWork(stage, entry) || state.held[entry.chunk] < state.mostHeld[entry.chunk];
    return hasRoom && isForwardReady(stage, entry) ? std::optional(entry) : std::nullopt;
  }

  std::optional<ScheduleEntry> nextBackward(int64_t stage) {
    const Stage &state = stages[stage];
    if (state.backwards == order.backwards.size() || !isBackwardReady(stage, order.backwards[state.backwards]))
      return std::nullopt;
    return order.backwards[state.backwards];
  }

  std::optional<ScheduleEntry> choose(int64_t stage) {
    if (std::optional<ScheduleEntry> forward = nextForward(stage))
      return forward;
    if (std::optional<ScheduleEntry> backward = nextBackward(stage))
      return backward;
    const Stage &state = stages[stage];
    if (state.weightGradients == state.backwards)
      return std::nullopt;
    ScheduleEntry entry = order.backwards[state.weightGradients];
    entry.kind = WorkKind::WeightGradient;
    return entry;
  }

  void execute(int64_t stage, const ScheduleEntry &entry, int64_t end) {
    Stage &state = stages[stage];
    int64_t at = shape.virtualStage(stage, entry.chunk);
    bool holds = hasWork(stage, entry);
    lastEnd = std::max(lastEnd, end);
    state.done.push_back(entry);
    if (entry.kind == WorkKind::Forward) {
      endOf(forwardEnd, at, entry.microBatch) = end;
      ++state.forwards;
      state.held[entry.chunk] += holds;
      return;
    }
    if (entry.kind == WorkKind::Backward) {
      endOf(backwardEnd, at, entry.microBatch) = end;
      ++state.backwards;
      if (holds && isSplit(stage, entry))
        return;
    } else {
      ++state.weightGradients;
    }
    state.held[entry.chunk] -= holds;
    skipWholeBackwards(stage);
  }

  /// Weight gradients that are part of their backward.
  void skipWholeBackwards(int64_t stage) {
    Stage &state = stages[stage];
    while (state.weightGradients < state.backwards) {
      const ScheduleEntry &entry = order.backwards[state.weightGradients];
      if (hasWork(stage, entry) && isSplit(stage, entry))
        return;
      ++state.weightGradients;
    }
  }

  /// What has no work takes no time.
  void skipWorkOfEmpty() {
    for (bool moved = !shape.isEmpty.empty(); moved;) {
      moved = false;
      for (int64_t stage = 0; stage < shape.stages; ++stage)
        for (std::optional<ScheduleEntry> next : {nextForward(stage), nextBackward(stage)})
          if (next && !hasWork(stage, *next)) {
            execute(stage, *next, now);
            moved = true;
            break;
          }
    }
  }

  const PipelineShape &shape;
  const ChunkOrder &order;
  const GreedyLimits &limits;
  std::vector<Stage> stages;
  std::vector<int64_t> forwardEnd, backwardEnd; ///< by virtual stage and micro-batch
  std::vector<std::optional<ScheduleEntry>> chosen;
  int64_t now = 0, lastEnd = 0;
};

} // namespace

GreedyResult tgpt::orderGreedily(const PipelineShape &shape, const ChunkOrder &order, const GreedyLimits &limits) {
  return GreedyRun(shape, order, limits).run();
}

std::vector<std::vector<int64_t>> tgpt::groupings(const PipelineShape &shape) {
  int64_t count = (shape.microBatches - 1) / shape.stages + 1;
  std::vector<int64_t> full(count, shape.stages), even(count, shape.microBatches / count);
  full.back() = shape.microBatches - shape.stages * (count - 1);
  for (int64_t i = 0; i < shape.microBatches % count; ++i)
    ++even[i];
  if (full == even)
    return {full};
  return {full, even};
}

std::vector<int64_t> tgpt::interleavedAhead(const PipelineShape &shape, const ChunkOrder &order) {
  int64_t least = order.leastAhead(), perStage = shape.chunks == 1 ? 1 : 2;
  std::vector<int64_t> ahead;
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    ahead.push_back(least + perStage * (shape.stages - stage - 1));
  return ahead;
}
