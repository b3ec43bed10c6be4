//===- OneForwardOneBackward.cpp - the order of a pipeline stage's work ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For 4 stages and 6 micro-batches, F and B each one time unit long:
//
//   stage 0  F0 F1 F2 F3 .  .  .  B0 F4 B1 F5 B2 .  B3 .  B4 .  B5
//   stage 1  .  F0 F1 F2 .  .  B0 F3 B1 F4 B2 F5 B3 .  B4 .  B5
//   stage 2  .  .  F0 F1 .  B0 F2 B1 F3 B2 F4 B3 F5 B4 .  B5
//   stage 3  .  .  .  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
//
// A stage starts a new forward only after a backward has freed a slot, so it
// holds the activations of at most stageCount - stage micro-batches.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/OneForwardOneBackward.h"
#include <algorithm>

using namespace tgpt;

std::string ScheduleEntry::toString() const {
  return (kind == Kind::Forward ? "F" : "B") + std::to_string(microBatch) + "@" + std::to_string(slot);
}

int64_t tgpt::slotsInFlight(int64_t stage, int64_t stageCount, int64_t microBatches) {
  return std::min(microBatches, stageCount - stage);
}

std::vector<ScheduleEntry> tgpt::scheduleOneForwardOneBackward(int64_t stage, int64_t stageCount,
                                                               int64_t microBatches) {
  int64_t slots = slotsInFlight(stage, stageCount, microBatches);
  int64_t warmUp = std::min(microBatches, stageCount - stage - 1);
  std::vector<ScheduleEntry> entries;
  entries.reserve(2 * microBatches);
  int64_t forwards = 0, backwards = 0;
  auto addForward = [&] {
    entries.push_back({ScheduleEntry::Kind::Forward, forwards, forwards % slots});
    ++forwards;
  };
  auto addBackward = [&] {
    entries.push_back({ScheduleEntry::Kind::Backward, backwards, backwards % slots});
    ++backwards;
  };
  while (forwards < warmUp)
    addForward();
  while (forwards < microBatches) {
    addForward();
    addBackward();
  }
  while (backwards < microBatches)
    addBackward();
  return entries;
}

int64_t tgpt::channelDepth(int64_t from, int64_t to) {
  return std::max(from - to, to - from);
}
