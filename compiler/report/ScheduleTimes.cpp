//===- ScheduleTimes.cpp - when the entries of all stages run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/ScheduleTimes.h"
#include <algorithm>
#include <cstdint>

using namespace tgpt;
using plan::Instruction;

/// Operations in the time of which a byte is moved.
static constexpr double operationsPerByte = 100;

static double lengthOf(const Instruction &instruction) {
  const plan::Cost &cost = instruction.cost();
  return std::max(static_cast<double>(cost.flops()),
                  operationsPerByte * static_cast<double>(cost.bytes_read() + cost.bytes_written()));
}

namespace {

/// Computation up to a message, and the message; the last step of a segment has none.
struct Step {
  double length = 0;
  const Instruction *message = nullptr;
};

/// Where a stage is in its schedule.
struct Progress {
  std::vector<std::vector<Step>> segments;
  std::vector<EntryTime> times;
  size_t entry = 0, step = 0;
  double now = 0;
};

} // namespace

static std::vector<Step> stepsOf(const plan::Segment &segment) {
  std::vector<Step> steps(1);
  for (const Instruction &instruction : segment.instructions()) {
    steps.back().length += lengthOf(instruction);
    if (instruction.kind() != Instruction::SEND && instruction.kind() != Instruction::RECV)
      continue;
    steps.back().message = &instruction;
    steps.emplace_back();
  }
  return steps;
}

/// Runs a stage until it waits or is done; whether it got on.
static bool advance(const plan::StageProgram &stage, Progress &progress, std::vector<std::vector<double>> &sent,
                    std::vector<size_t> &received) {
  bool moved = false;
  while (progress.entry < static_cast<size_t>(stage.schedule_size())) {
    const std::vector<Step> &steps = progress.segments[stage.schedule(static_cast<int>(progress.entry)).segment()];
    if (progress.step == 0 && progress.times.size() == progress.entry)
      progress.times.push_back({progress.now, progress.now});
    const Step &step = steps[progress.step];
    double ready = progress.now + step.length;
    if (step.message && step.message->kind() == Instruction::RECV) {
      uint32_t channel = step.message->channel();
      if (received[channel] >= sent[channel].size())
        return moved;
      ready = std::max(ready, sent[channel][received[channel]++]);
    } else if (step.message) {
      sent[step.message->channel()].push_back(ready);
    }
    progress.now = progress.times.back().end = ready;
    moved = true;
    if (++progress.step == steps.size()) {
      progress.step = 0;
      ++progress.entry;
    }
  }
  return moved;
}

/// An entry that begins with a wait begins where the wait ends.
static void skipWaits(const plan::StageProgram &stage, Progress &progress) {
  for (size_t i = 0; i < progress.times.size(); ++i) {
    double length = 0;
    for (const Step &step : progress.segments[stage.schedule(static_cast<int>(i)).segment()])
      length += step.length;
    progress.times[i].begin = std::max(progress.times[i].begin, progress.times[i].end - length);
  }
}

std::vector<std::vector<EntryTime>> tgpt::scheduleTimesOf(const plan::Plan &plan) {
  std::vector<Progress> stages(plan.stages_size());
  std::vector<std::vector<double>> sent(plan.channels_size());
  std::vector<size_t> received(plan.channels_size(), 0);
  for (int s = 0; s < plan.stages_size(); ++s)
    for (const plan::Segment &segment : plan.stages(s).segments())
      stages[s].segments.push_back(stepsOf(segment));
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < plan.stages_size(); ++s)
      moved |= advance(plan.stages(s), stages[s], sent, received);
  }
  std::vector<std::vector<EntryTime>> times;
  for (int s = 0; s < plan.stages_size(); ++s) {
    skipWaits(plan.stages(s), stages[s]);
    times.push_back(std::move(stages[s].times));
    times.back().resize(plan.stages(s).schedule_size());
  }
  return times;
}
