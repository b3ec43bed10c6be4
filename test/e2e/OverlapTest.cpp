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
#include "test/e2e/Outcome.h"
#include "test/e2e/ScratchBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
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

/// With zero 3 and layers gathered ahead of use.
const Grid fetchingGrids[] = {{1, 1, 2, false, " --zero=3"}, {2, 2, 3, true, " --zero=3"}};

plan::Plan compile(const std::string &model, const Grid &grid, const std::string &more) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml"), "--seed=11 " + grid.flags() + more);
}

Outcome train(const plan::Plan &plan, int communicationThreads) {
  JobOptions options;
  options.communicationThreads = communicationThreads;
  return outcomeOf(plan, options);
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

// Parameters in pieces, gathered layers ahead of use: the bits of gathers at the first use, and more scratch the
// further ahead.
TEST(PrefetchTest, GivesTheSameBits) {
  for (const char *model : {"nano", "nano-gpt2"})
    for (const Grid &grid : fetchingGrids) {
      Outcome expected = train(compile(model, grid, ""), 1);
      int64_t scratch = 0;
      for (int prefetch : {0, 1, 3}) {
        SCOPED_TRACE(model + (" " + grid.name()) + " prefetch " + std::to_string(prefetch));
        plan::Plan plan = compile(model, grid, " --overlap --prefetch=" + std::to_string(prefetch));
        EXPECT_TRUE(train(plan, 1) == expected) << "with communication threads";
        EXPECT_TRUE(train(plan, 0) == expected) << "without communication threads";
        int64_t bytes = mostScratchBytes(plan.stages(0));
        EXPECT_GE(bytes, scratch);
        scratch = bytes;
        std::printf("%s %s: %lld bytes of scratch with a prefetch of %d\n", model, grid.name().c_str(),
                    static_cast<long long>(bytes), prefetch);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Grids, OverlapTest,
                         testing::Combine(testing::Values("nano", "nano-gpt2"), testing::ValuesIn(grids)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param).name();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
