//===- StageLiveness.cpp - what a stage holds at each moment of its schedule ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/StageLiveness.h"
#include "runtime/plan/BufferExtent.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace tgpt;
using runtime::Extent;
using runtime::extentOf;

static int64_t bytesOf(const plan::Buffer &buffer) {
  return runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0);
}

int StageLiveness::KeptRegion::indexOf(int segment) const {
  auto found = std::find(sequence.begin(), sequence.end(), segment);
  return found == sequence.end() ? -1 : static_cast<int>(found - sequence.begin());
}

StageLiveness::StageLiveness(const plan::StageProgram &stage) : stage(stage) {
  order.assign(stage.segments_size(), -1);
  int next = 0;
  for (const plan::ScheduleEntry &entry : stage.schedule())
    if (order[entry.segment()] < 0)
      order[entry.segment()] = next++;
  findWholes();
  addUses();
  followRegions();
  for (int segment = 0; segment < stage.segments_size(); ++segment)
    profileSegment(segment);
  walkSchedule();
}

bool StageLiveness::isResident(int region) const {
  return !runtime::isEmptyBetweenSteps(stage.regions(region).kind());
}

/// What one segment alone uses is dead at its end, wherever it lies.
bool StageLiveness::isKept(const Life &life) const {
  return runtime::isOfMicroBatch(stage.regions(life.region).kind()) && life.uses.size() > 1;
}

/// Resident buffers within others are parts of these. Short-lived ones may lie within each
/// other because they are never live at once; a part has the number of its whole's value.
void StageLiveness::findWholes() {
  wholeOf.resize(stage.buffers_size());
  std::iota(wholeOf.begin(), wholeOf.end(), 0);
  std::vector<std::vector<std::pair<Extent, uint32_t>>> groups;
  std::map<uint32_t, std::set<uint32_t>> byValue;
  for (const plan::Segment &segment : stage.segments())
    for (const plan::Instruction &instruction : segment.instructions())
      for (int i = 0; i < instruction.values_size(); ++i)
        if (instruction.values(i) != 0)
          byValue[instruction.values(i)].insert(i < instruction.inputs_size()
                                                    ? instruction.inputs(i)
                                                    : instruction.outputs(i - instruction.inputs_size()));
  for (const auto &[value, buffers] : byValue)
    if (buffers.size() > 1)
      for (uint32_t buffer : buffers)
        (buffer == *buffers.begin() ? groups.emplace_back() : groups.back())
            .emplace_back(extentOf(stage.buffers(buffer)), buffer);
  std::vector<std::pair<Extent, uint32_t>> &residents = groups.emplace_back();
  for (int i = 0; i < stage.buffers_size(); ++i)
    if (isResident(stage.buffers(i).region()))
      residents.emplace_back(extentOf(stage.buffers(i)), i);
  for (auto &group : groups) {
    std::sort(group.begin(), group.end(), [](const auto &a, const auto &b) {
      return std::tuple(a.first.region, a.first.begin, -a.first.end, a.second) <
             std::tuple(b.first.region, b.first.begin, -b.first.end, b.second);
    });
    for (size_t i = 1, whole = 0; i < group.size(); ++i)
      if (group[whole].first.contains(group[i].first))
        wholeOf[group[i].second] = wholeOf[group[whole].second];
      else
        whole = i;
  }
}

void StageLiveness::addUses() {
  std::vector<int> lifeOf(stage.buffers_size(), -1);
  for (int i = 0; i < stage.buffers_size(); ++i) {
    int region = static_cast<int>(stage.buffers(i).region());
    if (wholeOf[i] != static_cast<uint32_t>(i))
      continue;
    if (isResident(region)) {
      resident += bytesOf(stage.buffers(i));
      continue;
    }
    lifeOf[i] = static_cast<int>(lives.size());
    lives.push_back({static_cast<uint32_t>(i), bytesOf(stage.buffers(i)), region, {}});
  }
  std::vector<int> segments(stage.segments_size());
  std::iota(segments.begin(), segments.end(), 0);
  std::stable_sort(segments.begin(), segments.end(), [&](int a, int b) { return order[a] < order[b]; });
  for (int segment : segments)
    for (int64_t at = 0; at < stage.segments(segment).instructions_size(); ++at) {
      const plan::Instruction &instruction = stage.segments(segment).instructions(static_cast<int>(at));
      auto use = [&](uint32_t buffer) {
        int life = lifeOf[wholeOf[buffer]];
        if (life < 0 || order[segment] < 0)
          return;
        std::vector<Use> &uses = lives[life].uses;
        if (uses.empty() || uses.back().segment != segment)
          uses.push_back({segment, at, at});
        uses.back().last = at;
      };
      std::for_each(instruction.inputs().begin(), instruction.inputs().end(), use);
      std::for_each(instruction.outputs().begin(), instruction.outputs().end(), use);
    }
}

void StageLiveness::followRegions() {
  kept.resize(stage.regions_size());
  for (const Life &life : lives)
    if (isKept(life))
      for (const Use &use : life.uses)
        if (kept[life.region].indexOf(use.segment) < 0)
          kept[life.region].sequence.push_back(use.segment);
  for (KeptRegion &region : kept) {
    std::sort(region.sequence.begin(), region.sequence.end(), [&](int a, int b) { return order[a] < order[b]; });
    region.keptBytes.assign(region.sequence.size(), 0);
  }
  for (const Life &life : lives) {
    if (!isKept(life))
      continue;
    KeptRegion &region = kept[life.region];
    for (int i = region.indexOf(life.uses.front().segment); i < region.indexOf(life.uses.back().segment); ++i)
      region.keptBytes[i] += life.bytes;
  }
}

std::pair<int64_t, int64_t> StageLiveness::liveWithin(const Life &life, int segment) const {
  constexpr std::pair<int64_t, int64_t> never = {0, -1};
  if (!isKept(life)) {
    for (const Use &use : life.uses)
      if (use.segment == segment)
        return {use.first, use.last};
    return never;
  }
  const Use &first = life.uses.front(), &last = life.uses.back();
  if (kept[life.region].indexOf(segment) < 0 || order[segment] < order[first.segment] ||
      order[segment] > order[last.segment])
    return never;
  return {segment == first.segment ? first.first : 0,
          segment == last.segment ? last.last : stage.segments(segment).instructions_size() - 1};
}

void StageLiveness::profileSegment(int segment) {
  int64_t size = stage.segments(segment).instructions_size();
  std::vector<InstructionBytes> changes(size + 1);
  for (const Life &life : lives) {
    auto [first, last] = liveWithin(life, segment);
    if (first > last)
      continue;
    int64_t InstructionBytes::*part = isKept(life) ? &InstructionBytes::activations : &InstructionBytes::scratch;
    changes[first].*part += life.bytes;
    changes[last + 1].*part -= life.bytes;
  }
  std::vector<InstructionBytes> &profile = profiles.emplace_back();
  InstructionBytes now;
  for (int64_t at = 0; at < size; ++at) {
    now.activations += changes[at].activations;
    now.scratch += changes[at].scratch;
    profile.push_back(now);
  }
}

int64_t StageLiveness::slotOf(int region, const plan::ScheduleEntry &entry) const {
  return runtime::slotOf(stage.regions(region).kind(), runtime::heldBy(entry));
}

void StageLiveness::advance(Slots &slots, const plan::ScheduleEntry &entry) const {
  for (size_t region = 0; region < kept.size(); ++region) {
    int index = kept[region].indexOf(static_cast<int>(entry.segment()));
    if (index < 0)
      continue;
    bool isLast = index + 1 == static_cast<int>(kept[region].sequence.size());
    slots[region][slotOf(static_cast<int>(region), entry)] = isLast ? Slot() : Slot{index, entry.micro_batch()};
  }
}

StageLiveness::Slots StageLiveness::slotsBefore(int64_t entry) const {
  Slots slots(stage.regions_size());
  for (int region = 0; region < stage.regions_size(); ++region)
    if (runtime::isOfMicroBatch(stage.regions(region).kind()))
      slots[region].resize(stage.regions(region).slots());
  for (int64_t before = 0; before < entry; ++before)
    advance(slots, stage.schedule(static_cast<int>(before)));
  return slots;
}

/// Walks all entries; other slots than the entry's own do not change meanwhile.
void StageLiveness::walkSchedule() {
  Slots slots = slotsBefore(0);
  peakMoment.bytes = -1;
  for (int64_t at = 0; at < stage.schedule_size(); ++at) {
    const plan::ScheduleEntry &entry = stage.schedule(static_cast<int>(at));
    int segment = static_cast<int>(entry.segment());
    int64_t bytes = 0;
    std::set<int64_t> microBatches;
    for (size_t region = 0; region < kept.size(); ++region) {
      bool isOwn = kept[region].indexOf(segment) >= 0;
      int64_t own = slotOf(static_cast<int>(region), entry);
      for (size_t slot = 0; slot < slots[region].size(); ++slot)
        if (slots[region][slot].behind >= 0 && !(isOwn && static_cast<int64_t>(slot) == own)) {
          bytes += kept[region].keptBytes[slots[region][slot].behind];
          microBatches.insert(slots[region][slot].microBatch);
        }
      if (isOwn)
        microBatches.insert(entry.micro_batch());
    }
    others.push_back(bytes);
    inFlight.push_back(static_cast<int64_t>(microBatches.size()));
    for (int64_t i = 0; i < static_cast<int64_t>(profiles[segment].size()); ++i) {
      int64_t total = resident + bytes + profiles[segment][i].activations + profiles[segment][i].scratch;
      if (total > peakMoment.bytes)
        peakMoment = {at, i, total};
    }
    advance(slots, entry);
  }
  if (peakMoment.bytes < 0)
    peakMoment = {0, 0, resident};
}

std::vector<LiveBuffer> StageLiveness::liveAt(const MemoryMoment &moment) const {
  std::vector<LiveBuffer> live;
  for (int i = 0; i < stage.buffers_size(); ++i)
    if (wholeOf[i] == static_cast<uint32_t>(i) && isResident(static_cast<int>(stage.buffers(i).region())))
      live.push_back({static_cast<uint32_t>(i), 1, false});
  if (moment.entry >= stage.schedule_size())
    return live;
  const plan::ScheduleEntry &entry = stage.schedule(static_cast<int>(moment.entry));
  int segment = static_cast<int>(entry.segment());
  Slots slots = slotsBefore(moment.entry);
  for (const Life &life : lives) {
    auto [first, last] = liveWithin(life, segment);
    int64_t copies = first <= moment.instruction && moment.instruction <= last;
    if (isKept(life)) {
      const KeptRegion &region = kept[life.region];
      bool isOwn = region.indexOf(segment) >= 0;
      int64_t own = slotOf(life.region, entry);
      int from = region.indexOf(life.uses.front().segment), to = region.indexOf(life.uses.back().segment);
      for (size_t slot = 0; slot < slots[life.region].size(); ++slot) {
        int behind = slots[life.region][slot].behind;
        if (!(isOwn && static_cast<int64_t>(slot) == own) && behind >= from && behind < to)
          ++copies;
      }
    }
    if (copies > 0)
      live.push_back({life.buffer, copies, isKept(life)});
  }
  return live;
}

int64_t StageLiveness::slotPeakBytes(int region) const {
  int64_t peak = 0;
  bool isOfSlots = runtime::isOfMicroBatch(stage.regions(region).kind());
  if (isResident(region)) {
    for (int i = 0; i < stage.buffers_size(); ++i)
      if (wholeOf[i] == static_cast<uint32_t>(i) && static_cast<int>(stage.buffers(i).region()) == region)
        peak += bytesOf(stage.buffers(i));
    return peak;
  }
  for (int segment = 0; segment < stage.segments_size(); ++segment) {
    std::vector<int64_t> changes(stage.segments(segment).instructions_size() + 1, 0);
    for (const Life &life : lives) {
      auto [first, last] = liveWithin(life, segment);
      if (life.region != region || first > last || isKept(life) != isOfSlots)
        continue;
      changes[first] += life.bytes;
      changes[last + 1] -= life.bytes;
    }
    int64_t now = 0;
    for (int64_t change : changes)
      peak = std::max(peak, now += change);
  }
  return peak;
}

int64_t StageLiveness::keptSlotBytes(int region) const {
  int64_t end = 0;
  for (const Life &life : lives)
    if (life.region == region && isKept(life))
      end = std::max(end, extentOf(stage.buffers(static_cast<int>(life.buffer))).end);
  int64_t grain = runtime::regionGrainBytes;
  return (end + grain - 1) / grain * grain;
}
