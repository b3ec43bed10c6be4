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

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using plan::Instruction;
using plan::ScheduleEntry;

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

template <typename Repeated> void move(Repeated &all, int from, int to) {
  auto first = all.begin();
  if (from < to)
    std::rotate(first + from, first + from + 1, first + to + 1);
  else
    std::rotate(first + to, first + from, first + from + 1);
}

/// Draws mistakes; each says what it did, or nothing where the draw does not apply.
class ScheduleMistakes {
public:
  ScheduleMistakes(plan::Plan &plan, std::mt19937_64 &random) : plan(plan), random(random) {}

  std::string make() {
    using Mistake = std::string (ScheduleMistakes::*)();
    static constexpr Mistake all[] = {
        &ScheduleMistakes::swapEntries,   &ScheduleMistakes::moveEntry,        &ScheduleMistakes::dropEntry,
        &ScheduleMistakes::repeatEntry,   &ScheduleMistakes::changeMicroBatch, &ScheduleMistakes::exchangeMicroBatches,
        &ScheduleMistakes::changeSlot,    &ScheduleMistakes::changeSlots,      &ScheduleMistakes::changeSegment,
        &ScheduleMistakes::swapSchedules, &ScheduleMistakes::dropMessage,      &ScheduleMistakes::moveMessage,
        &ScheduleMistakes::moveToSegment, &ScheduleMistakes::changeChannel,    &ScheduleMistakes::redirectMessage,
        &ScheduleMistakes::swapMessages,  &ScheduleMistakes::changeDepth,      &ScheduleMistakes::turnChannel,
        &ScheduleMistakes::shareBuffer,   &ScheduleMistakes::changeGroup,      &ScheduleMistakes::moveAcrossStages,
        &ScheduleMistakes::changePage,    &ScheduleMistakes::changePages,
        &ScheduleMistakes::changeLeaf, &ScheduleMistakes::changeLeaves};
    return (this->*all[draw(std::size(all))])();
  }

private:
  int draw(int64_t count) { return static_cast<int>(random() % count); }
  plan::StageProgram &stage() { return *plan.mutable_stages(draw(plan.stages_size())); }

  std::string swapEntries() {
    auto &schedule = *stage().mutable_schedule();
    schedule.SwapElements(draw(schedule.size()), draw(schedule.size()));
    return "swap two entries";
  }
  std::string moveEntry() {
    auto &schedule = *stage().mutable_schedule();
    move(schedule, draw(schedule.size()), draw(schedule.size()));
    return "move an entry";
  }
  std::string dropEntry() {
    auto &schedule = *stage().mutable_schedule();
    schedule.DeleteSubrange(draw(schedule.size()), 1);
    return "drop an entry";
  }
  std::string repeatEntry() {
    auto &schedule = *stage().mutable_schedule();
    int from = draw(schedule.size()), to = draw(schedule.size());
    ScheduleEntry entry = schedule.Get(from);
    *schedule.Add() = entry;
    move(schedule, schedule.size() - 1, to);
    return "repeat an entry";
  }
  std::string changeMicroBatch() {
    auto &schedule = *stage().mutable_schedule();
    schedule.Mutable(draw(schedule.size()))->set_micro_batch(draw(plan.training().micro_batches() + 1) - 1);
    return "change a micro-batch";
  }
  /// A stage takes two micro-batches in each other's place, everywhere.
  std::string exchangeMicroBatches() {
    int64_t count = plan.training().micro_batches(), a = draw(count), b = draw(count);
    for (ScheduleEntry &entry : *stage().mutable_schedule())
      if (entry.micro_batch() == a || entry.micro_batch() == b)
        entry.set_micro_batch(a + b - entry.micro_batch());
    return "exchange two micro-batches of a stage";
  }
  static int64_t slotsOf(const plan::StageProgram &stage) {
    int64_t slots = 1;
    for (const plan::Region &region : stage.regions())
      if (region.kind() == plan::Region::ACTIVATIONS)
        slots = std::max(slots, region.slots());
    return slots;
  }
  std::string changeSlot() {
    plan::StageProgram &changed = stage();
    auto &schedule = *changed.mutable_schedule();
    schedule.Mutable(draw(schedule.size()))->set_slot(draw(slotsOf(changed) + 1));
    return "change the slot of an entry";
  }
  /// A micro-batch moves to another slot, forward and backward.
  std::string changeSlots() {
    plan::StageProgram &changed = stage();
    int64_t microBatch = draw(plan.training().micro_batches()), slot = draw(slotsOf(changed));
    for (ScheduleEntry &entry : *changed.mutable_schedule())
      if (entry.micro_batch() == microBatch)
        entry.set_slot(slot);
    return "change the slot of a micro-batch";
  }
  static int64_t pagesOf(const plan::StageProgram &stage, plan::Region::Kind kind) {
    int64_t pages = 0;
    for (const plan::Region &region : stage.regions())
      if (region.kind() == kind)
        pages = region.slots();
    return pages;
  }
  std::string changePage() {
    plan::StageProgram &changed = stage();
    auto &schedule = *changed.mutable_schedule();
    schedule.Mutable(draw(schedule.size()))->set_page(draw(pagesOf(changed, plan::Region::PAGES) + 2));
    return "change the page of an entry";
  }
  std::string changeLeaf() {
    plan::StageProgram &changed = stage();
    auto &schedule = *changed.mutable_schedule();
    schedule.Mutable(draw(schedule.size()))->set_leaf(draw(pagesOf(changed, plan::Region::LEAVES) + 2));
    return "change the leaf of an entry";
  }
  /// A micro-batch takes another page, wherever it has one.
  std::string changePages() {
    plan::StageProgram &changed = stage();
    int64_t microBatch = draw(plan.training().micro_batches());
    int64_t page = draw(pagesOf(changed, plan::Region::PAGES) + 1);
    for (ScheduleEntry &entry : *changed.mutable_schedule())
      if (entry.micro_batch() == microBatch && entry.page() > 0)
        entry.set_page(page);
    return "change the page of a micro-batch";
  }
  std::string changeLeaves() {
    plan::StageProgram &changed = stage();
    int64_t microBatch = draw(plan.training().micro_batches());
    int64_t leaf = draw(pagesOf(changed, plan::Region::LEAVES) + 1);
    for (ScheduleEntry &entry : *changed.mutable_schedule())
      if (entry.micro_batch() == microBatch && entry.leaf() > 0)
        entry.set_leaf(leaf);
    return "change the leaf of a micro-batch";
  }
  std::string changeSegment() {
    plan::StageProgram &changed = stage();
    auto &schedule = *changed.mutable_schedule();
    schedule.Mutable(draw(schedule.size()))->set_segment(draw(changed.segments_size()));
    return "change the segment of an entry";
  }
  std::string swapSchedules() {
    stage().mutable_schedule()->Swap(stage().mutable_schedule());
    return "swap the schedules of two stages";
  }

  struct Place {
    plan::Segment *segment;
    int index;
    Instruction &operator*() const { return *segment->mutable_instructions(index); }
  };
  /// An instruction that `isOne`, of any stage; its segment is null where there is none.
  Place drawInstruction(const std::function<bool(const Instruction &)> &isOne) {
    std::vector<Place> places;
    for (plan::StageProgram &stage : *plan.mutable_stages())
      for (plan::Segment &segment : *stage.mutable_segments())
        for (int i = 0; i < segment.instructions_size(); ++i)
          if (isOne(segment.instructions(i)))
            places.push_back({&segment, i});
    return places.empty() ? Place{nullptr, 0} : places[draw(static_cast<int64_t>(places.size()))];
  }
  static bool isMessage(const Instruction &instruction) {
    return instruction.kind() == Instruction::SEND || instruction.kind() == Instruction::RECV;
  }
  bool spansStages(const Instruction &instruction) const {
    if (instruction.kind() < Instruction::ALL_REDUCE || instruction.kind() > Instruction::ALL_TO_ALL)
      return false;
    const auto &axes = plan.groups(instruction.group()).axes();
    return std::find(axes.begin(), axes.end(), "pp") != axes.end();
  }

  std::string dropMessage() {
    Place at = drawInstruction(isMessage);
    if (!at.segment)
      return "";
    at.segment->mutable_instructions()->DeleteSubrange(at.index, 1);
    return "drop a message's end";
  }
  std::string moveMessage() {
    Place at = drawInstruction(isMessage);
    if (!at.segment)
      return "";
    move(*at.segment->mutable_instructions(), at.index, draw(at.segment->instructions_size()));
    return "move a message's end in its segment";
  }
  std::string moveToSegment() {
    plan::StageProgram &changed = stage();
    plan::Segment &from = *changed.mutable_segments(draw(changed.segments_size()));
    plan::Segment &to = *changed.mutable_segments(draw(changed.segments_size()));
    for (int i = 0; i < from.instructions_size(); ++i)
      if (isMessage(from.instructions(i))) {
        Instruction moved = from.instructions(i);
        from.mutable_instructions()->DeleteSubrange(i, 1);
        *to.add_instructions() = moved;
        move(*to.mutable_instructions(), to.instructions_size() - 1, draw(to.instructions_size()));
        return "move a message's end to another segment";
      }
    return "";
  }
  std::string changeChannel() {
    Place at = drawInstruction(isMessage);
    if (!at.segment)
      return "";
    (*at).set_channel(draw(plan.channels_size() + 1));
    return "change the channel of a message's end";
  }
  /// To another channel that could be it, with the peer that it has.
  std::string redirectMessage() {
    Place at = drawInstruction(isMessage);
    if (!at.segment)
      return "";
    bool sends = (*at).kind() == Instruction::SEND;
    const plan::Channel &own = plan.channels((*at).channel());
    std::vector<int> others;
    for (int c = 0; c < plan.channels_size(); ++c)
      if (sends ? plan.channels(c).from_stage() == own.from_stage() : plan.channels(c).to_stage() == own.to_stage())
        others.push_back(c);
    int chosen = others[draw(static_cast<int64_t>(others.size()))];
    (*at).set_channel(chosen);
    (*at).set_peer_stage(sends ? plan.channels(chosen).to_stage() : plan.channels(chosen).from_stage());
    return "misaddress a message";
  }
  std::string swapMessages() {
    Place a = drawInstruction(isMessage), b = drawInstruction(isMessage);
    if (!a.segment)
      return "";
    std::swap(*a, *b);
    return "swap two messages' ends";
  }
  std::string changeDepth() {
    if (plan.channels_size() == 0)
      return "";
    plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
    channel.set_depth(1);
    while (channel.receive_buffers_size() > 1)
      channel.mutable_receive_buffers()->RemoveLast();
    return "channel of depth 1";
  }
  std::string turnChannel() {
    if (plan.channels_size() == 0)
      return "";
    plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
    int64_t from = channel.from_stage();
    channel.set_from_stage(channel.to_stage());
    channel.set_to_stage(from);
    return "turn a channel round";
  }
  std::string shareBuffer() {
    if (plan.channels_size() == 0)
      return "";
    plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
    plan::Channel &other = *plan.mutable_channels(draw(plan.channels_size()));
    channel.set_receive_buffers(draw(channel.receive_buffers_size()),
                                other.receive_buffers(draw(other.receive_buffers_size())));
    return "give a channel another's message buffer";
  }
  std::string changeGroup() {
    Place at = drawInstruction([&](const Instruction &instruction) { return spansStages(instruction); });
    if (!at.segment)
      return "";
    (*at).set_group(draw(plan.groups_size()));
    return "change the group of stages";
  }
  std::string moveAcrossStages() {
    Place at = drawInstruction([&](const Instruction &instruction) { return spansStages(instruction); });
    if (!at.segment)
      return "";
    move(*at.segment->mutable_instructions(), at.index, draw(at.segment->instructions_size()));
    return "move a collective of stages";
  }

  plan::Plan &plan;
  std::mt19937_64 &random;
};

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

} // namespace

TEST(ScheduleMutationTest, MutantsAreRefusedOrEquivalent) {
  constexpr int64_t mutants = 1000;
  constexpr double watchdogBound = 2; // of MutantRun; a run of such a model takes some milliseconds
  std::mt19937_64 random(1000);
  InProcessCompiler compiler;
  MutationTable table;
  std::map<std::string, int64_t> refusals;
  double longest = 0;
  std::vector<Configuration> programs = pipelines();
  for (size_t p = 0; p < programs.size(); ++p) {
    plan::Plan original = compiler.compile(programs[p].model, programs[p].options);
    KernelCheck kernelCheck = kernelCheckOf(cpuKernels(), original.mesh());
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
  EXPECT_EQ(table.mutants(), mutants);
  EXPECT_EQ(table.shareCaught(), 1);
  EXPECT_LT(longest, watchdogBound + 5);
}
