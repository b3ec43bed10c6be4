//===- StageRanges.cpp - costs of runs of layers in constant time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageRanges.h"
#include <algorithm>
#include <bit>
#include <utility>

using namespace tgpt;

StageRanges::Greatest::Greatest(std::vector<int64_t> values) {
  size_t count = values.size();
  most.push_back(std::move(values));
  for (size_t width = 2; width <= count; width *= 2) {
    const std::vector<int64_t> &half = most.back();
    std::vector<int64_t> wider(count - width + 1);
    for (size_t i = 0; i < wider.size(); ++i)
      wider[i] = std::max(half[i], half[i + width / 2]);
    most.push_back(std::move(wider));
  }
}

int64_t StageRanges::Greatest::of(const PartRange &range) const {
  int level = std::bit_width(static_cast<uint64_t>(range.end - range.first)) - 1;
  return std::max(most[level][range.first], most[level][range.end - (int64_t(1) << level)]);
}

StageRanges::StageRanges(const StageProblem &problem) : problem(problem) {
  size_t count = problem.parts.size();
  for (std::vector<int64_t> *sums : {&time, &state, &activations, &update, &behind, &twiceState, &twiceActivations})
    sums->assign(count + 1, 0);
  for (const SharedBytes &shared : problem.shared)
    addPairs(shared);
  std::vector<int64_t> scratchOfPart, growthOfPart, backwardOfPart;
  for (size_t i = 0; i < count; ++i) {
    const PartCost &part = problem.parts[i];
    time[i + 1] = time[i] + part.nanoseconds();
    state[i + 1] = state[i] + part.state.total();
    activations[i + 1] = activations[i] + part.activationBytes;
    update[i + 1] = update[i] + part.updateBytes;
    behind[i + 1] = behind[i] + part.waitingBytes - part.activationBytes;
    twiceState[i + 1] += twiceState[i];
    twiceActivations[i + 1] += twiceActivations[i];
    scratchOfPart.push_back(part.scratchBytes);
    growthOfPart.push_back(part.growthBytes - behind[i + 1]);
    backwardOfPart.push_back(part.backwardBytes - behind[i + 1]);
  }
  scratch.emplace(std::move(scratchOfPart));
  growth.emplace(std::move(growthOfPart));
  backward.emplace(std::move(backwardOfPart));
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

// The sums hold at i the pairs whose second part is i or before; in the run are those with second above its first.
RunBytes StageRanges::runBytes(const PartRange &range) const {
  if (range.end <= range.first)
    return {};
  RunBytes run = {activations[range.end] - activations[range.first],
                  std::max<int64_t>(growth->of(range) + behind[range.end], 0), behind[range.end] - behind[range.first],
                  std::max<int64_t>(scratch->of(range), 0), backward->of(range) + behind[range.end]};
  run.kept -= twiceActivations[range.end - 1] - twiceActivations[range.first];
  for (const Pair &pair : farPairs)
    if (pair.first >= range.first && pair.second < range.end)
      run.kept -= pair.activationBytes;
  return run;
}

int64_t StageRanges::nanoseconds(int64_t stage, int64_t firstLayer, int64_t endLayer) const {
  return nanoseconds(partsOf(problem, stage, firstLayer, endLayer));
}

int64_t StageRanges::bytes(int64_t stage, int64_t firstLayer, int64_t endLayer) const {
  PartRange range = partsOf(problem, stage, firstLayer, endLayer);
  int64_t messages = problem.messageBytes * ((stage > 0) + (stage < problem.stages - 1));
  if (range.end <= range.first)
    return messages;
  int64_t held = stateBytes(range) - (twiceState[range.end - 1] - twiceState[range.first]);
  for (const Pair &pair : farPairs)
    if (pair.first >= range.first && pair.second < range.end)
      held -= pair.stateBytes;
  RunBytes run = runBytes(range);
  HeldBytes ofMicroBatches = heldBytes(problem, stage, {&run, 1}, updateBytes(range));
  return held + ofMicroBatches.activations + ofMicroBatches.scratch + messages;
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
