//===- CheckSchedule.cpp - order of work within each stage ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every segment runs as often as its kind says, and an activation slot belongs
// to one micro-batch from its first to its last entry that names the slot.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanProblems.h"

#include <map>
#include <set>

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
        slots = slots == 0 ? region.slots() : std::min(slots, region.slots());
    slots = std::max<int64_t>(slots, 1);
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
    checkPairing();
    checkSlots();
  }

private:
  std::string entryText(int index) const {
    const plan::ScheduleEntry &entry = stage.schedule(index);
    return place + ", schedule entry " + std::to_string(index) + " (segment '" +
           stage.segments(entry.segment()).name() + "', micro-batch " + std::to_string(entry.micro_batch()) +
           ", slot " + std::to_string(entry.slot()) + ")";
  }
  plan::Segment::Kind kindAt(int index) const { return stage.segments(stage.schedule(index).segment()).kind(); }

  void checkSegments();
  void checkEntry(int index);
  void checkOnce(int index);
  void checkCounts();
  void checkPairing();
  void checkSlots();

  const plan::StageProgram &stage;
  int64_t microBatches;
  PlanProblems &problems;
  std::string place;
  int64_t slots = 0;
  std::map<uint32_t, std::map<int64_t, int>> runs; // segment -> micro-batch -> schedule entry
};

} // namespace

void StageSchedule::checkSegments() {
  for (const plan::Segment &segment : stage.segments())
    if (segment.kind() <= plan::Segment::KIND_UNSPECIFIED || segment.kind() > plan::Segment::UPDATE)
      problems.add(place + ", segment '" + segment.name() + "' has the unknown kind " +
                   std::to_string(static_cast<int>(segment.kind())));
}

/// BEGIN precedes and UPDATE follows everything else; both carry micro-batch -1 and slot 0.
void StageSchedule::checkOnce(int index) {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  if (entry.micro_batch() != -1 || entry.slot() != 0)
    problems.add(entryText(index) + " runs once per step, its micro-batch must be -1 and its slot 0");
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
  if (kindAt(index) == plan::Segment::BEGIN || kindAt(index) == plan::Segment::UPDATE)
    return checkOnce(index);
  if (entry.micro_batch() < 0 || entry.micro_batch() >= microBatches)
    problems.add(entryText(index) + ": the step has " + std::to_string(microBatches) + " micro-batches");
  if (entry.slot() < 0 || entry.slot() >= slots)
    problems.add(entryText(index) + ": the stage has " + std::to_string(slots) + " activation slots");
}

void StageSchedule::checkCounts() {
  for (int s = 0; s < stage.segments_size(); ++s) {
    plan::Segment::Kind kind = stage.segments(s).kind();
    bool once = kind == plan::Segment::BEGIN || kind == plan::Segment::UPDATE;
    int64_t expected = once ? 1 : microBatches;
    int64_t count = static_cast<int64_t>(runs[s].size());
    if (count != expected)
      problems.add(place + ", segment '" + stage.segments(s).name() + "' is scheduled " + std::to_string(count) +
                   " times per step, expected " + std::to_string(expected) +
                   (once ? "" : ", once for each micro-batch"));
  }
}

/// With one forward and one backward segment: backward follows forward, in its slot.
void StageSchedule::checkPairing() {
  std::vector<uint32_t> forward, backward;
  for (int s = 0; s < stage.segments_size(); ++s) {
    if (stage.segments(s).kind() == plan::Segment::FORWARD)
      forward.push_back(s);
    if (stage.segments(s).kind() == plan::Segment::BACKWARD)
      backward.push_back(s);
  }
  if (forward.size() != 1 || backward.size() != 1 || problems.any())
    return;
  for (auto [microBatch, entry] : runs[backward[0]]) {
    int before = runs[forward[0]].at(microBatch);
    if (before > entry)
      problems.add(entryText(entry) + " comes before its forward, entry " + std::to_string(before));
    else if (stage.schedule(before).slot() != stage.schedule(entry).slot())
      problems.add(entryText(entry) + " reads another slot than its forward wrote, slot " +
                   std::to_string(stage.schedule(before).slot()) + " in entry " + std::to_string(before));
  }
}

void StageSchedule::checkSlots() {
  std::map<std::pair<int64_t, int64_t>, int> lastUse; // (slot, micro-batch) -> entry
  for (int i = 0; i < stage.schedule_size(); ++i)
    lastUse[{stage.schedule(i).slot(), stage.schedule(i).micro_batch()}] = i;
  std::map<int64_t, int> holder; // slot -> the entry that used it last
  for (int i = 0; i < stage.schedule_size(); ++i) {
    const plan::ScheduleEntry &entry = stage.schedule(i);
    if (entry.micro_batch() < 0)
      continue;
    auto held = holder.find(entry.slot());
    if (held != holder.end()) {
      int64_t owner = stage.schedule(held->second).micro_batch();
      int until = lastUse[{entry.slot(), owner}];
      if (owner != entry.micro_batch() && until > i)
        problems.add(entryText(i) + " takes the slot while micro-batch " + std::to_string(owner) +
                     " is in flight in it until entry " + std::to_string(until));
    }
    holder[entry.slot()] = i;
  }
}

void tgpt::runtime::checkSchedule(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageSchedule(stage, plan.training().micro_batches(), problems).check();
}
