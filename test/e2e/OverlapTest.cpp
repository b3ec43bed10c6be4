//===- test/e2e/OverlapTest.cpp - overlapping collectives changes nothing but when they run -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan whose collectives are started early has the same kernels and collectives on the
// same operands, so it must leave exactly what the plain plan leaves: no tolerance, with
// communication threads and without. Prints how many collectives run beside computation
// and what that takes in memory.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

struct Grid {
  int tp, pp, dp;
  bool sp;
  const char *more = "";

  std::string flags() const {
    return "--tp=" + std::to_string(tp) + " --pp=" + std::to_string(pp) + " --dp=" + std::to_string(dp) +
           (sp ? " --sp" : "") + " --micro-batches=3 --micro-batch-samples=2" + more;
  }
  std::string name() const {
    std::string name =
        "tp" + std::to_string(tp) + "pp" + std::to_string(pp) + "dp" + std::to_string(dp) + (sp ? "sp" : "") + more;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
    return name;
  }
};

const Grid grids[] = {
    {2, 1, 1, false}, {2, 1, 1, true}, {1, 1, 3, false},
    {4, 1, 1, true},  {2, 2, 1, true}, {2, 2, 2, true, " --recompute=full"},
};

plan::Plan compile(const std::string &model, const Grid &grid, const std::string &more) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml"), "--seed=11 " + grid.flags() + more);
}

struct Outcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<std::byte>> variables;

  bool operator==(const Outcome &) const = default;
};

Outcome train(const plan::Plan &plan, int communicationThreads) {
  JobOptions options;
  options.communicationThreads = communicationThreads;
  Job job(plan, options);
  job.initializeVariables();
  TokenPattern inputs(plan, 3e-3);
  Outcome outcome;
  for (inputs.step = 1; inputs.step <= 3; ++inputs.step) {
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

struct Count {
  int64_t collectives = 0, started = 0, arenaBytes = 0;
};

Count countOf(const plan::Plan &plan) {
  Count count;
  for (const plan::StageProgram &stage : plan.stages()) {
    count.arenaBytes += stage.arena_bytes();
    for (const plan::Segment &segment : stage.segments())
      for (const plan::Instruction &instruction : segment.instructions())
        if (instruction.kind() >= plan::Instruction::ALL_REDUCE &&
            instruction.kind() <= plan::Instruction::ALL_TO_ALL) {
          ++count.collectives;
          count.started += instruction.event() != 0;
        }
  }
  return count;
}

class OverlapTest : public testing::TestWithParam<std::tuple<std::string, Grid>> {};

} // namespace

TEST_P(OverlapTest, GivesTheSameBits) {
  const auto &[model, grid] = GetParam();
  for (std::string dtype : {" --dtype=f32", " --dtype=bf16"}) {
    SCOPED_TRACE(dtype);
    plan::Plan plain = compile(model, grid, dtype), overlapped = compile(model, grid, dtype + " --overlap");
    Outcome expected = train(plain, 1);
    EXPECT_TRUE(train(overlapped, 1) == expected) << "with communication threads";
    EXPECT_TRUE(train(overlapped, 0) == expected) << "without communication threads";
    Count before = countOf(plain), after = countOf(overlapped);
    EXPECT_EQ(before.started, 0);
    EXPECT_EQ(after.collectives, before.collectives);
    EXPECT_GE(4 * after.started, after.collectives) << "hardly anything overlaps";
    std::printf("%s%s: %lld of %lld collectives overlap, arena %lld -> %lld bytes\n", grid.name().c_str(),
                dtype.c_str(), static_cast<long long>(after.started), static_cast<long long>(after.collectives),
                static_cast<long long>(before.arenaBytes), static_cast<long long>(after.arenaBytes));
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, OverlapTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(grids)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
