//===- PartPeaks.cpp - what is live while a part of the model runs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/PartPeaks.h"
#include <algorithm>
#include <utility>

using namespace tgpt;

PartPeaks::PartPeaks(std::vector<PartStep> givenSteps, int64_t parts)
    : steps(std::move(givenSteps)), scratch(2 * steps.size() + 1), kept(parts), ofPart(parts) {
  for (std::size_t step = 0; step < steps.size(); ++step)
    ofPart[steps[step].part].push_back(static_cast<int64_t>(step));
}

void PartPeaks::addScratch(int64_t from, int64_t until, int64_t bytes) {
  int64_t end = static_cast<int64_t>(scratch.size()) - 1;
  if (from >= std::min(until, end))
    return;
  scratch[from] += bytes;
  scratch[std::min(until, end)] -= bytes;
}

void PartPeaks::addKept(int64_t part, int64_t from, int64_t until, int64_t bytes) {
  kept[part].push_back({from, bytes});
  kept[part].push_back({until, -bytes});
}

int64_t PartPeaks::startOfPart(int64_t part, PartPhase phase) const {
  for (int64_t step : ofPart[part])
    if (steps[step].phase == phase)
      return startOf(step);
  return never;
}

std::vector<std::vector<PartPeaks::Peak>> PartPeaks::peaks() const {
  std::vector<int64_t> liveScratch(scratch.size());
  int64_t live = 0;
  for (std::size_t moment = 0; moment < scratch.size(); ++moment)
    liveScratch[moment] = live += scratch[moment];
  std::vector<std::vector<Peak>> result(ofPart.size(), std::vector<Peak>(3));
  for (std::size_t part = 0; part < ofPart.size(); ++part) {
    std::vector<Change> changes = kept[part];
    std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.moment < b.moment; });
    std::size_t next = 0;
    int64_t held = 0;
    for (int64_t step : ofPart[part]) {
      for (; next < changes.size() && changes[next].moment <= startOf(step); ++next)
        held += changes[next].bytes;
      Peak &peak = result[part][static_cast<std::size_t>(steps[step].phase)];
      peak.liveBytes = std::max(peak.liveBytes, held + liveScratch[startOf(step)]);
      peak.keptBytes = std::max(peak.keptBytes, held);
    }
  }
  return result;
}
