//===- test/mutation/PlanMutationTest.cpp - mistakes in a plan that the checker must find -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every collective and message of compiled plans is dropped, repeated, given another
// group, dim or reduction, or moved before or behind its neighbour; those that run beside
// computation also lose their waits, or get them elsewhere. The plan checker must refuse
// what then computes something else, or might.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/KernelSet.h"
#include "runtime/plan/CheckPlan.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/mutation/MutationTable.h"
#include "test/mutation/Programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

using namespace tgpt;
using plan::Instruction;

namespace {

struct Place {
  int stage, segment, index;
};

using Instructions = google::protobuf::RepeatedPtrField<Instruction>;

Instructions &instructionsAt(plan::Plan &plan, Place place) {
  return *plan.mutable_stages(place.stage)->mutable_segments(place.segment)->mutable_instructions();
}

bool isCollective(const Instruction &instruction) {
  return instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL;
}
bool isWait(const Instruction &instruction) {
  return instruction.kind() == Instruction::WAIT;
}
bool isMessage(const Instruction &instruction) {
  return instruction.kind() == Instruction::SEND || instruction.kind() == Instruction::RECV;
}

/// Mutates one program in every place.
class PlanMutation {
public:
  PlanMutation(const plan::Plan &original, const std::string &name, MutationTable &table)
      : original(original), name(name), table(table), run(original),
        kernelCheck(runtime::kernelCheckOf(runtime::cpuKernels(), original.mesh())) {}

  void mutateAll() {
    for (int stage = 0; stage < original.stages_size(); ++stage)
      for (int segment = 0; segment < original.stages(stage).segments_size(); ++segment)
        for (int i = 0; i < original.stages(stage).segments(segment).instructions_size(); ++i)
          mutateAt({stage, segment, i});
  }

private:
  void mutateAt(Place place) {
    const Instruction &instruction = instructionAt(place);
    if (!isCollective(instruction) && !isMessage(instruction) && !isWait(instruction))
      return;
    attempt("drop", place, [&](Instructions &all) { all.DeleteSubrange(place.index, 1); });
    attempt("repeat", place, [&](Instructions &all) {
      *all.Add() = all.Get(place.index);
      for (int i = all.size() - 1; i > place.index + 1; --i)
        all.SwapElements(i, i - 1);
    });
    if (place.index > 0)
      attempt("swap with the instruction before", place,
              [&](Instructions &all) { all.SwapElements(place.index, place.index - 1); });
    if (place.index + 1 < original.stages(place.stage).segments(place.segment).instructions_size())
      attempt("swap with the instruction behind", place,
              [&](Instructions &all) { all.SwapElements(place.index, place.index + 1); });
    if (isCollective(instruction))
      mutateCollective(place, instruction);
    if (instruction.event() != 0)
      mutateFlight(place, instruction);
  }

  /// Moves element `from` to place `to`.
  static void move(Instructions &all, int from, int to) {
    auto first = all.begin();
    if (from < to)
      std::rotate(first + from, first + from + 1, first + to + 1);
    else
      std::rotate(first + to, first + from, first + from + 1);
  }

  /// Of a start, or of a wait.
  void mutateFlight(Place place, const Instruction &instruction) {
    std::string name = isWait(instruction) ? "wait" : "start";
    attempt(name + " at the segment's end", place, [&](Instructions &all) { move(all, place.index, all.size() - 1); });
    attempt(name + " at the segment's begin", place, [&](Instructions &all) { move(all, place.index, 0); });
    for (uint32_t event : {instruction.event() - 1, instruction.event() + 1})
      attempt(name + " of another event", place,
              [&](Instructions &all) { all.Mutable(place.index)->set_event(event); });
    if (isWait(instruction))
      return;
    attempt("start on the compute stream", place, [&](Instructions &all) {
      all.Mutable(place.index)->set_event(0);
      all.Mutable(place.index)->set_stream(Instruction::COMPUTE);
    });
    attempt("drop with its wait", place, [&](Instructions &all) {
      for (int i = all.size() - 1; i >= place.index; --i)
        if (all.Get(i).event() == instruction.event())
          all.DeleteSubrange(i, 1);
    });
  }

  void mutateCollective(Place place, const Instruction &instruction) {
    auto change = [&](const char *mutation, const std::function<void(Instruction &)> &edit) {
      attempt(mutation, place, [&](Instructions &all) { edit(*all.Mutable(place.index)); });
    };
    for (int group = 0; group < original.groups_size(); ++group)
      if (group != static_cast<int>(instruction.group()))
        change("change group", [&](Instruction &changed) { changed.set_group(group); });
    if (instruction.kind() == Instruction::ALL_REDUCE) {
      const char *other = instruction.opcode() == "sum" ? "max" : "sum";
      change("change reduction", [&](Instruction &changed) { changed.set_opcode(other); });
      return;
    }
    int rank = original.stages(place.stage).buffers(instruction.inputs(0)).shape_size();
    for (int dim = 0; dim < rank; ++dim)
      if (dim != instruction.dim())
        change("change dim", [&](Instruction &changed) { changed.set_dim(dim); });
  }

  void attempt(const std::string &mutation, Place place, const std::function<void(Instructions &)> &mutate) {
    const Instruction &instruction = instructionAt(place);
    plan::Plan mutant = original;
    mutate(instructionsAt(mutant, place));
    std::string where = name + ", " + original.stages(place.stage).segments(place.segment).name() + " instruction " +
                        std::to_string(place.index) + " " + Instruction::Kind_Name(instruction.kind()),
                why;
    Fate fate = runtime::findPlanProblems(mutant, kernelCheck).empty() ? run.judge(mutant, why) : Fate::Checker;
    table.add(mutation, fate, where + ": " + why);
  }

  const Instruction &instructionAt(Place place) const {
    return original.stages(place.stage).segments(place.segment).instructions(place.index);
  }

  const plan::Plan &original;
  std::string name;
  MutationTable &table;
  MutantRun run;
  runtime::KernelCheck kernelCheck;
};

} // namespace

static void expectRefusals(const std::vector<Configuration> &programs, int64_t atLeast) {
  InProcessCompiler compiler;
  MutationTable table;
  for (const Configuration &program : programs)
    PlanMutation(compiler.compile(program.model, program.options), program.text(), table).mutateAll();
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), atLeast);
  EXPECT_EQ(table.shareCaught(), 1);
}

TEST(PlanMutationTest, CheckerRefusesMutants) {
  std::vector<Configuration> programs;
  for (auto [pp, dp] : {std::pair(1, 2), std::pair(2, 1), std::pair(2, 2)})
    for (const Configuration &program : mutatedPrograms(pp, dp))
      programs.push_back(program);
  expectRefusals(programs, 1000);
}

// Sums in a tree, each scalar of the gradient norm by itself.
TEST(PlanMutationTest, CheckerRefusesMutantsOfCanonicalReduction) {
  std::vector<Configuration> programs;
  for (int64_t pp : {1, 2})
    for (const Configuration &program : mutatedCanonicalPrograms(pp))
      programs.push_back(program);
  for (int64_t zero : {1, 3}) { // pieces, gathered for the norm
    programs.push_back(mutatedZeroPrograms(/*pp=*/1, zero)[0]);
    programs.back().options.reduction = "canonical";
    programs.back().options.microBatches = zero == 1 ? 4 : 1;
  }
  expectRefusals(programs, 1000);
}

// Buckets: what is packed, cut into pieces, gathered and taken apart.
TEST(PlanMutationTest, CheckerRefusesMutantsOfZero) {
  std::vector<Configuration> programs;
  for (int64_t zero : {1, 2, 3})
    for (const Configuration &program : mutatedZeroPrograms(/*pp=*/1, zero))
      programs.push_back(program);
  programs.push_back(mutatedZeroPrograms(/*pp=*/2, /*zero=*/3).front());
  for (int64_t zero : {1, 2, 3}) { // shared out in groups that hold the same
    programs.push_back(mutatedZeroPrograms(/*pp=*/1, zero)[zero == 2]);
    programs.back().options.dp = 4;
    programs.back().options.zeroGroup = 2;
    programs.back().options.overlap = zero == 3; // gathered ahead of use
  }
  expectRefusals(programs, 1000);
}

// Messages between chunks, of one stage too, and weight_gradients.
TEST(PlanMutationTest, CheckerRefusesMutantsOfChunks) {
  std::vector<Configuration> programs;
  for (int64_t pp : {1, 2})
    for (const Configuration &program : mutatedChunkedPrograms(pp))
      programs.push_back(program);
  expectRefusals(programs, 500);
}

TEST(PlanMutationTest, CheckerRefusesMutantsOfWindowsMasksAndMasters) {
  std::vector<Configuration> programs;
  for (int64_t pp : {1, 2})
    for (const Configuration &program : mutatedFeaturePrograms(pp))
      programs.push_back(program);
  expectRefusals(programs, 1000);
}

// Collectives in flight, and their waits.
TEST(PlanMutationTest, CheckerRefusesMutantsThatOverlap) {
  std::vector<Configuration> programs;
  for (auto [pp, dp] : {std::pair(1, 2), std::pair(2, 1)})
    for (const Configuration &program : mutatedPrograms(pp, dp))
      programs.push_back(program);
  for (int64_t zero : {2, 3})
    programs.push_back(mutatedZeroPrograms(/*pp=*/1, zero).front());
  for (Configuration &program : programs)
    program.options.overlap = true;
  expectRefusals(programs, 1000);
}
