//===- ScheduleMistakes.cpp - mistakes in schedules and messages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/mutation/ScheduleMistakes.h"

#include <algorithm>
#include <iterator>
#include <vector>

using namespace tgpt;
using plan::Instruction;
using plan::ScheduleEntry;

template <typename Repeated> static void move(Repeated &all, int from, int to) {
  auto first = all.begin();
  if (from < to)
    std::rotate(first + from, first + from + 1, first + to + 1);
  else
    std::rotate(first + to, first + from, first + from + 1);
}

std::string ScheduleMistakes::make() {
  using Mistake = std::string (ScheduleMistakes::*)();
  static constexpr Mistake all[] = {
      &ScheduleMistakes::swapEntries,   &ScheduleMistakes::moveEntry,        &ScheduleMistakes::dropEntry,
      &ScheduleMistakes::repeatEntry,   &ScheduleMistakes::changeMicroBatch, &ScheduleMistakes::exchangeMicroBatches,
      &ScheduleMistakes::changeSlot,    &ScheduleMistakes::changeSlots,      &ScheduleMistakes::changeSegment,
      &ScheduleMistakes::swapSchedules, &ScheduleMistakes::dropMessage,      &ScheduleMistakes::moveMessage,
      &ScheduleMistakes::moveToSegment, &ScheduleMistakes::changeChannel,    &ScheduleMistakes::redirectMessage,
      &ScheduleMistakes::swapMessages,  &ScheduleMistakes::changeDepth,      &ScheduleMistakes::turnChannel,
      &ScheduleMistakes::shareBuffer,   &ScheduleMistakes::changeGroup,      &ScheduleMistakes::moveAcrossStages,
      &ScheduleMistakes::changePage,    &ScheduleMistakes::changePages,      &ScheduleMistakes::changeLeaf,
      &ScheduleMistakes::changeLeaves,  &ScheduleMistakes::changePlace,      &ScheduleMistakes::swapPlaces};
  return (this->*all[draw(std::size(all))])();
}

std::string ScheduleMistakes::makeOfPlaces() {
  using Mistake = std::string (ScheduleMistakes::*)();
  static constexpr Mistake all[] = {&ScheduleMistakes::changePlace, &ScheduleMistakes::swapPlaces,
                                    &ScheduleMistakes::changeSlot,  &ScheduleMistakes::changeSlots,
                                    &ScheduleMistakes::changePage,  &ScheduleMistakes::changePages,
                                    &ScheduleMistakes::changeLeaf,  &ScheduleMistakes::changeLeaves};
  return (this->*all[draw(std::size(all))])();
}

std::string ScheduleMistakes::swapEntries() {
  auto &schedule = *stage().mutable_schedule();
  schedule.SwapElements(draw(schedule.size()), draw(schedule.size()));
  return "swap two entries";
}

std::string ScheduleMistakes::moveEntry() {
  auto &schedule = *stage().mutable_schedule();
  move(schedule, draw(schedule.size()), draw(schedule.size()));
  return "move an entry";
}

std::string ScheduleMistakes::dropEntry() {
  auto &schedule = *stage().mutable_schedule();
  schedule.DeleteSubrange(draw(schedule.size()), 1);
  return "drop an entry";
}

std::string ScheduleMistakes::repeatEntry() {
  auto &schedule = *stage().mutable_schedule();
  int from = draw(schedule.size()), to = draw(schedule.size());
  ScheduleEntry entry = schedule.Get(from);
  *schedule.Add() = entry;
  move(schedule, schedule.size() - 1, to);
  return "repeat an entry";
}

std::string ScheduleMistakes::changeMicroBatch() {
  auto &schedule = *stage().mutable_schedule();
  schedule.Mutable(draw(schedule.size()))->set_micro_batch(draw(plan.training().micro_batches() + 1) - 1);
  return "change a micro-batch";
}

std::string ScheduleMistakes::exchangeMicroBatches() {
  int64_t count = plan.training().micro_batches(), a = draw(count), b = draw(count);
  for (ScheduleEntry &entry : *stage().mutable_schedule())
    if (entry.micro_batch() == a || entry.micro_batch() == b)
      entry.set_micro_batch(a + b - entry.micro_batch());
  return "exchange two micro-batches of a stage";
}

int64_t ScheduleMistakes::slotsOf(const plan::StageProgram &stage) {
  int64_t slots = 1;
  for (const plan::Region &region : stage.regions())
    if (region.kind() == plan::Region::ACTIVATIONS)
      slots = std::max(slots, region.slots());
  return slots;
}

std::string ScheduleMistakes::changeSlot() {
  plan::StageProgram &changed = stage();
  auto &schedule = *changed.mutable_schedule();
  schedule.Mutable(draw(schedule.size()))->set_slot(draw(slotsOf(changed) + 1));
  return "change the slot of an entry";
}

std::string ScheduleMistakes::changeSlots() {
  plan::StageProgram &changed = stage();
  int64_t microBatch = draw(plan.training().micro_batches()), slot = draw(slotsOf(changed));
  for (ScheduleEntry &entry : *changed.mutable_schedule())
    if (entry.micro_batch() == microBatch)
      entry.set_slot(slot);
  return "change the slot of a micro-batch";
}

int64_t ScheduleMistakes::pagesOf(const plan::StageProgram &stage, plan::Region::Kind kind) {
  int64_t pages = 0;
  for (const plan::Region &region : stage.regions())
    if (region.kind() == kind)
      pages = region.slots();
  return pages;
}

std::string ScheduleMistakes::changePage() {
  plan::StageProgram &changed = stage();
  auto &schedule = *changed.mutable_schedule();
  schedule.Mutable(draw(schedule.size()))->set_page(draw(pagesOf(changed, plan::Region::PAGES) + 2));
  return "change the page of an entry";
}

std::string ScheduleMistakes::changeLeaf() {
  plan::StageProgram &changed = stage();
  auto &schedule = *changed.mutable_schedule();
  schedule.Mutable(draw(schedule.size()))->set_leaf(draw(pagesOf(changed, plan::Region::LEAVES) + 2));
  return "change the leaf of an entry";
}

std::string ScheduleMistakes::changePages() {
  plan::StageProgram &changed = stage();
  int64_t microBatch = draw(plan.training().micro_batches());
  int64_t page = draw(pagesOf(changed, plan::Region::PAGES) + 1);
  for (ScheduleEntry &entry : *changed.mutable_schedule())
    if (entry.micro_batch() == microBatch && entry.page() > 0)
      entry.set_page(page);
  return "change the page of a micro-batch";
}

std::string ScheduleMistakes::changeLeaves() {
  plan::StageProgram &changed = stage();
  int64_t microBatch = draw(plan.training().micro_batches());
  int64_t leaf = draw(pagesOf(changed, plan::Region::LEAVES) + 1);
  for (ScheduleEntry &entry : *changed.mutable_schedule())
    if (entry.micro_batch() == microBatch && entry.leaf() > 0)
      entry.set_leaf(leaf);
  return "change the leaf of a micro-batch";
}

plan::Region *ScheduleMistakes::drawPlaced() {
  plan::StageProgram &changed = stage();
  std::vector<plan::Region *> placed;
  for (plan::Region &region : *changed.mutable_regions())
    if (region.places_size() > 0)
      placed.push_back(&region);
  return placed.empty() ? nullptr : placed[draw(static_cast<int64_t>(placed.size()))];
}

std::string ScheduleMistakes::changePlace() {
  plan::Region *region = drawPlaced();
  if (!region)
    return "";
  constexpr int64_t grainBytes = 64;
  int64_t last = *std::max_element(region->places().begin(), region->places().end());
  region->set_places(draw(region->places_size()), grainBytes * draw(last / grainBytes + 2));
  return "change the place of a slot, page or leaf";
}

std::string ScheduleMistakes::swapPlaces() {
  plan::Region *region = drawPlaced();
  if (!region)
    return "";
  region->mutable_places()->SwapElements(draw(region->places_size()), draw(region->places_size()));
  return "swap two places of a region";
}

std::string ScheduleMistakes::changeSegment() {
  plan::StageProgram &changed = stage();
  auto &schedule = *changed.mutable_schedule();
  schedule.Mutable(draw(schedule.size()))->set_segment(draw(changed.segments_size()));
  return "change the segment of an entry";
}

std::string ScheduleMistakes::swapSchedules() {
  stage().mutable_schedule()->Swap(stage().mutable_schedule());
  return "swap the schedules of two stages";
}

ScheduleMistakes::Place ScheduleMistakes::drawInstruction(const std::function<bool(const Instruction &)> &isOne) {
  std::vector<Place> places;
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments())
      for (int i = 0; i < segment.instructions_size(); ++i)
        if (isOne(segment.instructions(i)))
          places.push_back({&segment, i});
  return places.empty() ? Place{nullptr, 0} : places[draw(static_cast<int64_t>(places.size()))];
}

bool ScheduleMistakes::isMessage(const Instruction &instruction) {
  return instruction.kind() == Instruction::SEND || instruction.kind() == Instruction::RECV;
}

bool ScheduleMistakes::spansStages(const Instruction &instruction) const {
  if (instruction.kind() < Instruction::ALL_REDUCE || instruction.kind() > Instruction::ALL_TO_ALL)
    return false;
  const auto &axes = plan.groups(instruction.group()).axes();
  return std::find(axes.begin(), axes.end(), "pp") != axes.end();
}

std::string ScheduleMistakes::dropMessage() {
  Place at = drawInstruction(isMessage);
  if (!at.segment)
    return "";
  at.segment->mutable_instructions()->DeleteSubrange(at.index, 1);
  return "drop a message's end";
}

std::string ScheduleMistakes::moveMessage() {
  Place at = drawInstruction(isMessage);
  if (!at.segment)
    return "";
  move(*at.segment->mutable_instructions(), at.index, draw(at.segment->instructions_size()));
  return "move a message's end in its segment";
}

std::string ScheduleMistakes::moveToSegment() {
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

std::string ScheduleMistakes::changeChannel() {
  Place at = drawInstruction(isMessage);
  if (!at.segment)
    return "";
  (*at).set_channel(draw(plan.channels_size() + 1));
  return "change the channel of a message's end";
}

std::string ScheduleMistakes::redirectMessage() {
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

std::string ScheduleMistakes::swapMessages() {
  Place a = drawInstruction(isMessage), b = drawInstruction(isMessage);
  if (!a.segment)
    return "";
  std::swap(*a, *b);
  return "swap two messages' ends";
}

std::string ScheduleMistakes::changeDepth() {
  if (plan.channels_size() == 0)
    return "";
  plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
  channel.set_depth(1);
  while (channel.receive_buffers_size() > 1)
    channel.mutable_receive_buffers()->RemoveLast();
  return "channel of depth 1";
}

std::string ScheduleMistakes::turnChannel() {
  if (plan.channels_size() == 0)
    return "";
  plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
  int64_t from = channel.from_stage();
  channel.set_from_stage(channel.to_stage());
  channel.set_to_stage(from);
  return "turn a channel round";
}

std::string ScheduleMistakes::shareBuffer() {
  if (plan.channels_size() == 0)
    return "";
  plan::Channel &channel = *plan.mutable_channels(draw(plan.channels_size()));
  plan::Channel &other = *plan.mutable_channels(draw(plan.channels_size()));
  channel.set_receive_buffers(draw(channel.receive_buffers_size()),
                              other.receive_buffers(draw(other.receive_buffers_size())));
  return "give a channel another's message buffer";
}

std::string ScheduleMistakes::changeGroup() {
  Place at = drawInstruction([&](const Instruction &instruction) { return spansStages(instruction); });
  if (!at.segment)
    return "";
  (*at).set_group(draw(plan.groups_size()));
  return "change the group of stages";
}

std::string ScheduleMistakes::moveAcrossStages() {
  Place at = drawInstruction([&](const Instruction &instruction) { return spansStages(instruction); });
  if (!at.segment)
    return "";
  move(*at.segment->mutable_instructions(), at.index, draw(at.segment->instructions_size()));
  return "move a collective of stages";
}
