//===- test/mutation/ScheduleMutationTest.cpp - mistakes in schedules and messages -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thousand drawn mistakes in the schedules, messages and stage-spanning collectives of
// compiled plans: entries swapped, moved, dropped, repeated, given another micro-batch,
// slot or segment; messages dropped, moved, sent to another channel or stage; channels of
// another depth, direction or buffers. The plan checker refuses each, or a run of it
// gives the numbers of the unmutated plan; and no run hangs.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/KernelSet.h"
#include "runtime/plan/PlanProblems.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/mutation/MutationTable.h"
#include "test/mutation/Programs.h"
#include "test/mutation/ScheduleMistakes.h"
#include "test/unit/plan/ByteOwners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// A schedule that the compiler can be asked for.
struct Schedule {
  const char *name;
  void (*choose)(CompileOptions &options);
};

const Schedule schedules[] = {
    {"gpipe", [](CompileOptions &options) { options.schedule = "gpipe"; }},
    {"1f1b", [](CompileOptions &) {}},
    {"interleaved", [](CompileOptions &options) { options.vpp = 2; }},
    {"zero-bubble", [](CompileOptions &options) { options.schedule = "zero-bubble"; }},
    {"zero-bubble in chunks", [](CompileOptions &options) { options.schedule = "zero-bubble", options.vpp = 2; }},
};

/// Pipelines of different lengths, with what else crosses or orders stages: tied weights, tp and dp groups, started
/// collectives, pieces of ZeRO, sums that wait for other micro-batches.
std::vector<Configuration> pipelines() {
  Configuration base = mutatedPrograms(/*pp=*/1, /*dp=*/1)[0];
  base.options.tp = 1;
  std::vector<Configuration> made;
  auto add = [&](int64_t pp, int64_t layers, int64_t microBatches, void (*change)(Configuration &)) {
    for (const Schedule &schedule : schedules) {
      Configuration program = base;
      program.options.pp = pp;
      program.model.layers = layers;
      program.options.microBatches = microBatches;
      change(program);
      schedule.choose(program.options);
      made.push_back(program);
    }
  };
  add(2, 2, 3, [](Configuration &) {});
  add(3, 5, 4, [](Configuration &p) { p.model.tiedEmbeddings = false; });
  add(4, 4, 5, [](Configuration &) {});
  add(2, 3, 2, [](Configuration &p) { p.options.tp = p.options.dp = 2, p.options.overlap = true; });
  add(2, 2, 3, [](Configuration &p) { p.options.dp = 2, p.options.zero = 3; });
  add(1, 2, 4, [](Configuration &) {});
  add(2, 2, 4, [](Configuration &p) { p.options.reduction = "canonical"; });
  return made;
}

/// The check that refuses a plan, as findPlanProblems orders them; empty: none does.
std::string refusingCheck(const plan::Plan &plan, const KernelCheck &kernelCheck) {
  PlanProblems problems;
  RankGrid grid(plan.mesh());
  const std::pair<const char *, std::function<void()>> checks[] = {
      {"memory", [&] { checkMemory(plan, problems); }},
      {"variables", [&] { checkVariables(plan, grid, problems); }},
      {"copies", [&] { checkCopies(plan, problems); }},
      {"transport", [&] { checkTransport(plan, grid, problems); }},
      {"instructions", [&] { checkInstructions(plan, grid, kernelCheck, problems); }},
      {"schedule", [&] { checkSchedule(plan, problems); }},
      {"flights", [&] { checkFlights(plan, problems); }},
      {"progress", [&] { checkProgress(plan, grid, problems); }},
      {"dataflow", [&] { checkDataflow(plan, problems); }},
      {"layouts", [&] { checkLayouts(plan, problems); }},
  };
  for (const auto &[name, check] : checks) {
    check();
    if (problems.any())
      return name;
  }
  return "";
}

bool hasPlaces(const plan::Plan &plan) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Region &region : stage.regions())
      if (region.places_size() > 0)
        return true;
  return false;
}

} // namespace

TEST(ScheduleMutationTest, MutantsAreRefusedOrEquivalent) {
  constexpr int64_t mutants = 1000;
  constexpr double watchdogBound = 2; // of MutantRun; a run of such a model takes some milliseconds
  std::mt19937_64 random(1000);
  InProcessCompiler compiler;
  MutationTable table;
  std::map<std::string, int64_t> refusals;
  double longest = 0;
  int placed = 0;
  std::vector<Configuration> programs = pipelines();
  for (size_t p = 0; p < programs.size(); ++p) {
    plan::Plan original = compiler.compile(programs[p].model, programs[p].options);
    KernelCheck kernelCheck = kernelCheckOf(cpuKernels(), original.mesh());
    EXPECT_EQ(test::strangeRead(original), "");
    placed += hasPlaces(original);
    MutantRun run(original);
    int64_t end = mutants * static_cast<int64_t>(p + 1) / static_cast<int64_t>(programs.size());
    while (table.mutants() < end) {
      plan::Plan mutant = original;
      std::string mistake = ScheduleMistakes(mutant, random).make(), why;
      if (mistake.empty() || mutant.SerializeAsString() == original.SerializeAsString())
        continue;
      std::string check = refusingCheck(mutant, kernelCheck);
      EXPECT_EQ(check.empty(), findPlanProblems(mutant, kernelCheck).empty());
      Fate fate = Fate::Checker;
      if (check.empty()) {
        auto start = std::chrono::steady_clock::now();
        fate = run.judge(mutant, why);
        EXPECT_EQ(test::strangeRead(mutant), "") << mistake << ", " << programs[p].text();
        longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      } else {
        ++refusals[check];
      }
      table.add(mistake, fate, programs[p].text() + ": " + why);
    }
  }
  std::printf("%srefused by:", table.text().c_str());
  for (const auto &[check, count] : refusals)
    std::printf(" %s %lld", check.c_str(), static_cast<long long>(count));
  std::printf("; longest run of a mutant: %.2f s\n", longest);
  EXPECT_GE(placed, 5) << "programs whose slots, pages and leaves lie anywhere";
  EXPECT_EQ(table.mutants(), mutants);
  EXPECT_EQ(table.shareCaught(), 1);
  EXPECT_LT(longest, watchdogBound + 5);
}

// Lots: whose slots, pages and leaves share bytes at different times.
TEST(ScheduleMutationTest, MistakesInLotsAreRefusedOrEquivalent) {
  constexpr int64_t mutants = 1000;
  std::mt19937_64 random(1001);
  InProcessCompiler compiler;
  MutationTable table;
  std::vector<Configuration> programs = mutatedChunkedPrograms(/*pp=*/2);
  for (const Configuration &pipeline : pipelines())
    if (pipeline.options.vpp > 1 && pipeline.options.schedule == "zero-bubble")
      programs.push_back(pipeline);
  int64_t lots = 0;
  for (const Configuration &program : programs) {
    plan::Plan original = compiler.compile(program.model, program.options);
    if (!hasPlaces(original))
      continue;
    KernelCheck kernelCheck = kernelCheckOf(cpuKernels(), original.mesh());
    MutantRun run(original);
    ++lots;
    for (int64_t end = table.mutants() + mutants / static_cast<int64_t>(programs.size()); table.mutants() < end;) {
      plan::Plan mutant = original;
      std::string mistake = ScheduleMistakes(mutant, random).makeOfPlaces(), why;
      if (mistake.empty() || mutant.SerializeAsString() == original.SerializeAsString())
        continue;
      bool isRefused = !refusingCheck(mutant, kernelCheck).empty();
      if (!isRefused) {
        EXPECT_EQ(test::strangeRead(mutant), "") << mistake << ", " << program.text();
      }
      table.add(mistake, isRefused ? Fate::Checker : run.judge(mutant, why), program.text() + ": " + why);
    }
  }
  std::printf("%lld programs with lots\n%s", static_cast<long long>(lots), table.text().c_str());
  EXPECT_GE(lots, 5);
  EXPECT_EQ(table.shareCaught(), 1);
}
