//===- StageRanges.cpp - costs of runs of layers in constant time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageRanges.h"
#include <algorithm>
#include <bit>

using namespace tgpt;

StageRanges::StageRanges(const StageProblem &problem) : problem(problem) {
  size_t count = problem.parts.size();
  for (std::vector<int64_t> *sums : {&time, &state, &activations, &update, &twiceState, &twiceActivations})
    sums->assign(count + 1, 0);
  for (const SharedBytes &shared : problem.shared)
    addPairs(shared);
  for (size_t i = 0; i < count; ++i) {
    const PartCost &part = problem.parts[i];
    time[i + 1] = time[i] + part.nanoseconds();
    state[i + 1] = state[i] + part.state.total();
    activations[i + 1] = activations[i] + part.activationBytes;
    update[i + 1] = update[i] + part.updateBytes;
    twiceState[i + 1] += twiceState[i];
    twiceActivations[i + 1] += twiceActivations[i];
  }
  buildScratch();
}

void StageRanges::addPairs(const SharedBytes &shared) {
  for (size_t i = 0; i + 1 < shared.parts.size(); ++i) {
    int64_t first = shared.parts[i], second = shared.parts[i + 1];
    if (second == first + 1) {
      twiceState[second] += shared.state.total();
      twiceActivations[second] += shared.activationBytes;
    } else {
      farPairs.push_back({first, second, shared.state.total(), shared.activationBytes});
    }
  }
}

void StageRanges::buildScratch() {
  size_t count = problem.parts.size();
  scratch.emplace_back();
  for (const PartCost &part : problem.parts)
    scratch.front().push_back(part.scratchBytes);
  for (size_t width = 2; width <= count; width *= 2) {
    const std::vector<int64_t> &half = scratch.back();
    std::vector<int64_t> most(count - width + 1);
    for (size_t i = 0; i < most.size(); ++i)
      most[i] = std::max(half[i], half[i + width / 2]);
    scratch.push_back(std::move(most));
  }
}

int64_t StageRanges::scratchOf(const PartRange &range) const {
  if (range.end <= range.first)
    return 0;
  int level = std::bit_width(static_cast<uint64_t>(range.end - range.first)) - 1;
  return std::max(scratch[level][range.first], scratch[level][range.end - (int64_t(1) << level)]);
}

int64_t StageRanges::nanoseconds(int64_t stage, int64_t firstLayer, int64_t endLayer) const {
  PartRange range = partsOf(problem, stage, firstLayer, endLayer);
  return time[range.end] - time[range.first];
}

int64_t StageRanges::bytes(int64_t stage, int64_t firstLayer, int64_t endLayer) const {
  PartRange range = partsOf(problem, stage, firstLayer, endLayer);
  int64_t messages = problem.messageBytes * ((stage > 0) + (stage < problem.stages - 1));
  if (range.end <= range.first)
    return messages;
  int64_t held = state[range.end] - state[range.first], kept = activations[range.end] - activations[range.first];
  // The sums hold at i the pairs whose second part is i or before; in the run are those with second above its first.
  held -= twiceState[range.end - 1] - twiceState[range.first];
  kept -= twiceActivations[range.end - 1] - twiceActivations[range.first];
  for (const Pair &pair : farPairs)
    if (pair.first >= range.first && pair.second < range.end) {
      held -= pair.stateBytes;
      kept -= pair.activationBytes;
    }
  int64_t temporary = std::max(scratchOf(range), update[range.end] - update[range.first] - kept);
  return held + problem.slots[stage] * kept + temporary + messages;
}

bool StageRanges::fits(int64_t stage, int64_t firstLayer, int64_t endLayer, int64_t mostNanoseconds,
                       int64_t mostBytes) const {
  return nanoseconds(stage, firstLayer, endLayer) <= mostNanoseconds && bytes(stage, firstLayer, endLayer) <= mostBytes;
}

int64_t StageRanges::reach(int64_t stage, int64_t firstLayer, int64_t mostNanoseconds, int64_t mostBytes) const {
  int64_t last = problem.layers();
  if (stage == problem.stages - 1)
    return fits(stage, firstLayer, last, mostNanoseconds, mostBytes) ? last : -1;
  if (!fits(stage, firstLayer, firstLayer, mostNanoseconds, mostBytes))
    return -1;
  int64_t fitting = firstLayer, step = 1;
  while (fitting + step <= last && fits(stage, firstLayer, fitting + step, mostNanoseconds, mostBytes)) {
    fitting += step;
    step *= 2;
  }
  for (; step > 0; step /= 2)
    if (fitting + step <= last && fits(stage, firstLayer, fitting + step, mostNanoseconds, mostBytes))
      fitting += step;
  return fitting;
}
