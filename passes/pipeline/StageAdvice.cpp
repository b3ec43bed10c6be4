//===- StageAdvice.cpp - what would make a model fit ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageAdvice.h"
#include "cost/BytesText.h"
#include <algorithm>
#include <cstdio>

using namespace tgpt;

static constexpr double gib = 1 << 30;
/// Numbers of stages that are tried.
static constexpr int64_t mostStagesTried = 64, mostStagesAdvised = 256;

std::string tgpt::misfitText(const StageProblem &problem, const StageCut &closest) {
  int64_t above = closest.greatestBytes() - problem.limitBytes;
  return "stage " + std::to_string(closest.fullestRank()) + " needs " + bytesText(double(closest.greatestBytes())) +
         ", " + bytesText(double(above)) + " (" + std::to_string(above) + " bytes) more than the limit of " +
         bytesText(double(problem.limitBytes));
}

static bool isFitting(const StageProblem &problem) {
  return chooseCut(problem).fits(problem);
}

/// Of a layer only its input is kept: half of what crosses a boundary. The rest is live in its backward.
static StageProblem withRecomputation(StageProblem problem) {
  for (int64_t part = 1; part <= problem.layers(); ++part) {
    PartCost &layer = problem.parts[part];
    int64_t kept = std::min(layer.activationBytes, problem.messageBytes / 2);
    layer.backwardBytes += layer.activationBytes - kept;
    layer.waitingBytes = std::min(layer.waitingBytes, kept);
    layer.growthBytes = 0;
    layer.activationBytes = kept;
  }
  for (SharedBytes &shared : problem.shared)
    shared.activationBytes = 0;
  return problem;
}

std::string tgpt::adviceText(const StageProblem &problem, const StageCut &closest, const OtherProblems &others) {
  std::string advice;
  auto add = [&](const std::string &option) { advice += (advice.empty() ? "" : ", ") + option; };
  int64_t mostStages = std::min({problem.layers(), problem.stages + mostStagesTried, mostStagesAdvised});
  for (int64_t stages = problem.stages + 1; stages <= mostStages; ++stages) {
    StageProblem other = problem;
    other.stages = stages;
    other.inFlight = others.inFlight(stages);
    if (isFitting(other)) {
      add("--pp=" + std::to_string(stages));
      break;
    }
  }
  for (int64_t zero = others.zero + 1; others.withZero && zero <= 3; ++zero)
    if (isFitting(others.withZero(zero))) {
      add("--zero=" + std::to_string(zero));
      break;
    }
  if (isFitting(withRecomputation(problem)))
    add("--recompute=full (estimated)");
  double neededGib = double(closest.greatestBytes()) / gib;
  char text[64];
  std::snprintf(text, sizeof text, "--memory-gib=%.5g", neededGib * 1.0001);
  add(text);
  return advice;
}
