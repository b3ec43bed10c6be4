//===- CheckSchedule.cpp - order of work within each stage ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every segment runs as often as its kind says. Of a chunk and micro-batch the segments
// run in the order forward, backward, weight_gradient and in one activation slot, which
// belongs to the micro-batch from its first to its last entry that names the slot. A page,
// which the chunks share, belongs to a chunk and micro-batch from the first to the last
// of its entries that name it for what they keep there for each other (PageHoldings.h); an entry
// that finds nothing and leaves nothing there has it alone. An entry whose instructions use pages
// names one. Leaves likewise.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PageTurns.h"
#include "runtime/plan/PlanProblems.h"

#include <algorithm>
#include <map>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// The checks of one stage's schedule.
class StageSchedule {
public:
  StageSchedule(const plan::StageProgram &stage, int64_t microBatches, PlanProblems &problems)
      : stage(stage), microBatches(microBatches), problems(problems), place("stage " + std::to_string(stage.stage())) {
    for (const plan::Region &region : stage.regions())
      if (region.kind() == plan::Region::ACTIVATIONS)
        slots[region.chunk()] = region.slots();
    for (const PageKind &kind : pageKinds)
      pageTurns.emplace_back(stage, kind, problems);
  }

  void check() {
    checkSegments();
    if (problems.any())
      return;
    for (int i = 0; i < stage.schedule_size(); ++i)
      checkEntry(i);
    if (problems.any())
      return;
    checkCounts();
    checkOrder();
    checkTrees();
    checkSlots();
    for (const PageTurns &turns : pageTurns)
      turns.checkHolders();
    if (!problems.any())
      checkPlaces(stage, problems);
  }

private:
  std::string entryText(int index) const { return scheduleEntryText(stage, index); }
  const plan::Segment &segmentAt(int index) const { return stage.segments(stage.schedule(index).segment()); }
  plan::Segment::Kind kindAt(int index) const { return segmentAt(index).kind(); }
  /// Those of the chunk; a stage that keeps nothing has one in name.
  int64_t slotsOf(int64_t chunk) const {
    auto found = slots.find(chunk);
    return found == slots.end() ? 1 : found->second;
  }

  void checkSegments();
  void checkEntry(int index);
  void checkOnce(int index);
  void checkPhase(int index);
  void checkCounts();
  void checkOrder();
  void checkTrees();
  void checkSlots();

  const plan::StageProgram &stage;
  int64_t microBatches;
  PlanProblems &problems;
  std::string place;
  std::map<int64_t, int64_t> slots; // by chunk
  std::vector<PageTurns> pageTurns;
  plan::ScheduleEntry::Phase phase = plan::ScheduleEntry::PHASE_UNSPECIFIED; // of the entries so far
  std::map<uint32_t, std::map<int64_t, int>> runs;                           // segment -> micro-batch -> schedule entry
};

} // namespace

static bool runsOnce(plan::Segment::Kind kind) {
  return kind == plan::Segment::BEGIN || kind == plan::Segment::UPDATE;
}

void StageSchedule::checkSegments() {
  for (const plan::Segment &segment : stage.segments()) {
    std::string where = place + ", segment '" + segment.name() + "'";
    if (segment.kind() <= plan::Segment::KIND_UNSPECIFIED || segment.kind() > plan::Segment::WEIGHT_GRADIENT)
      problems.add(where + " has the unknown kind " + std::to_string(static_cast<int>(segment.kind())));
    else if (segment.chunk() < 0 || (segment.chunk() > 0 && runsOnce(segment.kind())))
      problems.add(where + " is of chunk " + std::to_string(segment.chunk()) + ", expected " +
                   (runsOnce(segment.kind()) ? "0" : "at least 0"));
  }
}

/// BEGIN precedes and UPDATE follows everything else; both carry micro-batch -1 and slot 0.
void StageSchedule::checkOnce(int index) {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  if (entry.micro_batch() != -1 || entry.slot() != 0)
    problems.add(entryText(index) + " runs once per step, its micro-batch must be -1 and its slot 0");
  for (const PageKind &kind : pageKinds)
    if (int64_t page = kind.of(entry); page != 0)
      problems.add(entryText(index) + " runs once per step, but has " + kind.name + " " + std::to_string(page));
  if (entry.phase() != plan::ScheduleEntry::PHASE_UNSPECIFIED)
    problems.add(entryText(index) + " runs once per step, but names a phase of the pipeline");
  if (kindAt(index) == plan::Segment::BEGIN && index > 0 && kindAt(index - 1) != plan::Segment::BEGIN)
    problems.add(entryText(index) + " is a BEGIN segment, but entry " + std::to_string(index - 1) +
                 " before it is not");
  if (kindAt(index) == plan::Segment::UPDATE && index + 1 < stage.schedule_size() &&
      kindAt(index + 1) != plan::Segment::UPDATE)
    problems.add(entryText(index) + " is an UPDATE segment, but entry " + std::to_string(index + 1) +
                 " after it is not");
}

void StageSchedule::checkEntry(int index) {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  if (entry.segment() >= static_cast<uint32_t>(stage.segments_size()))
    return problems.add(place + ", schedule entry " + std::to_string(index) + " runs segment " +
                        std::to_string(entry.segment()) + ", but the stage has " +
                        std::to_string(stage.segments_size()) + " segments");
  // The neighbours' kinds are read below, so their segments must exist too.
  if (index + 1 < stage.schedule_size() &&
      stage.schedule(index + 1).segment() >= static_cast<uint32_t>(stage.segments_size()))
    return;
  if (problems.any())
    return;
  if (!runs[entry.segment()].emplace(entry.micro_batch(), index).second)
    problems.add(entryText(index) + " repeats entry " + std::to_string(runs[entry.segment()][entry.micro_batch()]));
  if (runsOnce(kindAt(index)))
    return checkOnce(index);
  checkPhase(index);
  if (entry.micro_batch() < 0 || entry.micro_batch() >= microBatches)
    problems.add(entryText(index) + ": the step has " + std::to_string(microBatches) + " micro-batches");
  int64_t chunk = segmentAt(index).chunk(), count = slotsOf(chunk);
  if (entry.slot() < 0 || entry.slot() >= count)
    problems.add(entryText(index) + ": " + (chunk == 0 ? "the stage" : "chunk " + std::to_string(chunk)) + " has " +
                 std::to_string(count) + " activation slots");
  for (const PageTurns &turns : pageTurns)
    turns.checkEntry(index);
}

/// Warm-up, then steady, then cool-down.
void StageSchedule::checkPhase(int index) {
  plan::ScheduleEntry::Phase next = stage.schedule(index).phase();
  if (next < plan::ScheduleEntry::WARM_UP || next > plan::ScheduleEntry::COOL_DOWN)
    return problems.add(entryText(index) + " is in phase " + std::to_string(static_cast<int>(next)) +
                        ", expected WARM_UP, STEADY or COOL_DOWN");
  if (next < phase)
    problems.add(entryText(index) + " is in phase " + plan::ScheduleEntry::Phase_Name(next) + ", after an entry in " +
                 plan::ScheduleEntry::Phase_Name(phase));
  phase = next;
}

void StageSchedule::checkCounts() {
  for (int s = 0; s < stage.segments_size(); ++s) {
    plan::Segment::Kind kind = stage.segments(s).kind();
    bool once = runsOnce(kind);
    int64_t expected = once ? 1 : microBatches;
    int64_t count = static_cast<int64_t>(runs[s].size());
    if (count != expected)
      problems.add(place + ", segment '" + stage.segments(s).name() + "' is scheduled " + std::to_string(count) +
                   " times per step, expected " + std::to_string(expected) +
                   (once ? "" : ", once for each micro-batch"));
  }
}

static const char *nameOf(plan::Segment::Kind kind) {
  return kind == plan::Segment::FORWARD ? "forward" : kind == plan::Segment::BACKWARD ? "backward" : "weight_gradient";
}

/// A chunk's segments run in order, in one slot: forward, backward, weight_gradient, as their numbers say. Several of
/// one kind run in the order in which the stage lists them, which CheckDataflow takes them in.
void StageSchedule::checkOrder() {
  std::map<std::pair<int64_t, int64_t>, std::pair<int, int>> seen; // (chunk, micro-batch) -> first and latest entry
  for (int i = 0; i < stage.schedule_size(); ++i) {
    const plan::ScheduleEntry &entry = stage.schedule(i);
    if (entry.micro_batch() < 0)
      continue;
    auto [found, isFirst] = seen.try_emplace({segmentAt(i).chunk(), entry.micro_batch()}, i, i);
    if (isFirst)
      continue;
    auto &[first, latest] = found->second;
    auto key = [&](int index) { return std::pair(kindAt(index), stage.schedule(index).segment()); };
    if (key(latest) > key(i))
      problems.add(entryText(latest) + " comes before its " + nameOf(kindAt(i)) + ", entry " + std::to_string(i));
    else if (stage.schedule(first).slot() != entry.slot())
      problems.add(entryText(i) + " reads another slot than its " + nameOf(kindAt(first)) + " wrote, slot " +
                   std::to_string(stage.schedule(first).slot()) + " in entry " + std::to_string(first));
    latest = i;
  }
}

static bool addsInTree(const plan::Segment &segment) {
  return std::any_of(segment.instructions().begin(), segment.instructions().end(),
                     [](const plan::Instruction &instruction) {
                       return instruction.kind() == plan::Instruction::KERNEL &&
                              (instruction.opcode() == "accumulate_tree" || instruction.opcode() == "accumulate_nodes");
                     });
}

/// The sum of a micro-batch in a tree takes up those of the ones before it.
void StageSchedule::checkTrees() {
  std::map<uint32_t, int> latest; // segment -> entry
  for (int i = 0; i < stage.schedule_size(); ++i) {
    auto [found, isFirst] = latest.try_emplace(stage.schedule(i).segment(), i);
    if (!isFirst && stage.schedule(i).micro_batch() < stage.schedule(found->second).micro_batch() &&
        addsInTree(segmentAt(i)))
      problems.add(entryText(i) + " comes after micro-batch " +
                   std::to_string(stage.schedule(found->second).micro_batch()) + " in entry " +
                   std::to_string(found->second) + ", but the segment adds micro-batches in a tree, in their order");
    found->second = i;
  }
}

void StageSchedule::checkSlots() {
  using Place = std::pair<int64_t, int64_t>; // chunk and slot
  auto placeAt = [&](int index) { return Place(segmentAt(index).chunk(), stage.schedule(index).slot()); };
  std::map<std::pair<Place, int64_t>, int> lastUse; // by micro-batch -> entry
  for (int i = 0; i < stage.schedule_size(); ++i)
    lastUse[{placeAt(i), stage.schedule(i).micro_batch()}] = i;
  std::map<Place, int> holder; // the entry that used it last
  for (int i = 0; i < stage.schedule_size(); ++i) {
    const plan::ScheduleEntry &entry = stage.schedule(i);
    if (entry.micro_batch() < 0)
      continue;
    auto held = holder.find(placeAt(i));
    if (held != holder.end()) {
      int64_t owner = stage.schedule(held->second).micro_batch();
      int until = lastUse[{placeAt(i), owner}];
      if (owner != entry.micro_batch() && until > i)
        problems.add(entryText(i) + " takes the slot while micro-batch " + std::to_string(owner) +
                     " is in flight in it until entry " + std::to_string(until));
    }
    holder[placeAt(i)] = i;
  }
}

void tgpt::runtime::checkSchedule(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageSchedule(stage, plan.training().micro_batches(), problems).check();
}
