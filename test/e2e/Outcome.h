//===- test/e2e/Outcome.h - all that a few steps leave behind -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_OUTCOME_H
#define TGPT_TEST_E2E_OUTCOME_H

#include "runtime/engine/Job.h"
#include "test/e2e/TokenPattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Losses and gradient norms of the steps, and the bytes of every variable after them.
struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<std::byte>> variables;

  bool operator==(const Outcome &) const = default;
};

/// As ==, but the gradient norm of a step that overflowed is no number.
inline bool isSame(const Outcome &a, const Outcome &b) {
  auto same = [](const std::vector<double> &x, const std::vector<double> &y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](double u, double v) { return std::bit_cast<uint64_t>(u) == std::bit_cast<uint64_t>(v); });
  };
  return same(a.losses, b.losses) && same(a.norms, b.norms) && a.variables == b.variables;
}

/// Trains; copies are equal and no rank needs other memory than planned.
inline Outcome outcomeOf(const plan::Plan &plan, const JobOptions &options = {}, int steps = 3) {
  Job job(plan, options);
  job.initializeVariables();
  TokenPattern inputs(plan, 3e-3);
  Outcome outcome;
  for (inputs.step = 1; inputs.step <= steps; ++inputs.step) {
    const StepMetrics &metrics = job.runStep(inputs);
    outcome.losses.push_back(metrics.loss);
    outcome.norms.push_back(metrics.gradNorm);
  }
  for (const std::string &name : job.variableNames())
    outcome.variables[name] = job.readVariable(name).bytes;
  job.verifyCopiesEqual();
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    EXPECT_EQ(job.highWaterBytes(rank), job.plannedBytes(rank)) << job.describeRank(rank);
  return outcome;
}

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_OUTCOME_H
