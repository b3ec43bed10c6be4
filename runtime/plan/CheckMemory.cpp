//===- CheckMemory.cpp - regions and buffers ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After these checks every buffer lies within its region and the region within
// the arena, for every slot, and no arithmetic on them overflows. Regions share no byte,
// but for the pages of several chunks, which are the same, what lies over others by design,
// and regions with places, of which CheckPlaces sees who shares bytes.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// The checks of one stage.
class StageMemory {
public:
  StageMemory(const plan::StageProgram &stage, PlanProblems &problems)
      : stage(stage), problems(problems), place("stage " + std::to_string(stage.stage())) {}

  void check() {
    checkRegions();
    if (problems.any())
      return;
    for (int i = 0; i < stage.buffers_size(); ++i)
      checkBuffer(i);
  }

private:
  void checkRegions();
  void checkRegion(int index);
  void checkPlaces(int index);
  void checkSamePages(int first, int index);
  int64_t checkStep(int index);
  void checkApart();
  void checkBuffer(int index);

  const plan::StageProgram &stage;
  PlanProblems &problems;
  std::string place;
};

} // namespace

void StageMemory::checkRegion(int index) {
  const plan::Region &region = stage.regions(index);
  std::string where = place + ", " + regionText(stage, index);
  if (region.kind() <= plan::Region::KIND_UNSPECIFIED || region.kind() > plan::Region::WORKSPACE)
    return problems.add(place + ", region " + std::to_string(index) + " has the unknown kind " +
                        std::to_string(static_cast<int>(region.kind())));
  if (region.offset_bytes() < 0 || region.slot_bytes() < 0 || region.slots() < 1)
    return problems.add(where + " has offset " + std::to_string(region.offset_bytes()) + ", slot size " +
                        std::to_string(region.slot_bytes()) + " and " + std::to_string(region.slots()) + " slots");
  if (region.slots() > 1 && !isOfMicroBatch(region.kind()))
    problems.add(where + " has " + std::to_string(region.slots()) +
                 " slots, but only ACTIVATIONS, PAGES and LEAVES may have more than one");
  if (region.chunk() < 0)
    problems.add(where + " is of chunk " + std::to_string(region.chunk()) + ", the first chunk is 0");
  if (region.chunk() > 0 && !isOfMicroBatch(region.kind()))
    problems.add(where + " is of chunk " + std::to_string(region.chunk()) +
                 ", but only ACTIVATIONS, PAGES and LEAVES are of a chunk");
  if (region.offset_bytes() % regionGrainBytes != 0 || region.slot_bytes() % regionGrainBytes != 0)
    problems.add(where + " has offset " + std::to_string(region.offset_bytes()) + " and slot size " +
                 std::to_string(region.slot_bytes()) + ", both must be multiples of " +
                 std::to_string(regionGrainBytes) + " bytes");
  if (region.peak_live_bytes() < 0 || region.peak_live_bytes() > region.slot_bytes())
    problems.add(where + " has " + std::to_string(region.peak_live_bytes()) + " peak live bytes in slots of " +
                 std::to_string(region.slot_bytes()));
  if (region.places_size() > 0)
    return checkPlaces(index);
  int64_t end;
  if (__builtin_mul_overflow(region.slot_bytes(), region.slots(), &end) ||
      __builtin_add_overflow(end, region.offset_bytes(), &end) || end > stage.arena_bytes())
    problems.add(where + " at offset " + std::to_string(region.offset_bytes()) + " with " +
                 std::to_string(region.slots()) + " slots of " + std::to_string(region.slot_bytes()) +
                 " bytes ends beyond the arena of " + std::to_string(stage.arena_bytes()) + " bytes");
}

/// A place for each slot, within the arena.
void StageMemory::checkPlaces(int index) {
  const plan::Region &region = stage.regions(index);
  std::string where = place + ", " + regionText(stage, index);
  if (!isOfMicroBatch(region.kind()) || region.places_size() != region.slots())
    return problems.add(where + " has " + std::to_string(region.places_size()) + " places for " +
                        std::to_string(region.slots()) +
                        " slots, but only ACTIVATIONS, PAGES and LEAVES have any, one for each slot");
  int64_t room;
  if (__builtin_sub_overflow(stage.arena_bytes() - region.offset_bytes(), region.slot_bytes(), &room))
    room = -1;
  for (int64_t begin : region.places())
    if (begin < 0 || begin > room || begin % regionGrainBytes != 0)
      problems.add(where + " has a slot of " + std::to_string(region.slot_bytes()) + " bytes at place " +
                   std::to_string(begin) + ", expected a multiple of " + std::to_string(regionGrainBytes) +
                   " from 0 to " + std::to_string(room));
}

/// The pages of all chunks are the same bytes.
void StageMemory::checkSamePages(int first, int index) {
  const plan::Region &one = stage.regions(first), &other = stage.regions(index);
  if (one.offset_bytes() != other.offset_bytes() || one.slot_bytes() != other.slot_bytes() ||
      one.slots() != other.slots())
    problems.add(place + ", " + regionText(stage, index) + " has " + std::to_string(other.slots()) + " pages of " +
                 std::to_string(other.slot_bytes()) + " bytes at " + std::to_string(other.offset_bytes()) +
                 ", but those of chunk " + std::to_string(one.chunk()) + " are " + std::to_string(one.slots()) +
                 " of " + std::to_string(one.slot_bytes()) + " at " + std::to_string(one.offset_bytes()));
}

/// Nothing that is held between the segments of a micro-batch's turn, and beyond it, lies under STEP. Its end.
int64_t StageMemory::checkStep(int index) {
  const plan::Region &step = stage.regions(index);
  int64_t begin = step.offset_bytes(), end = begin + step.slot_bytes();
  for (int i = 0; i < stage.regions_size(); ++i) {
    const plan::Region &region = stage.regions(i);
    int64_t bytes = regionBytes(region);
    if (!isEmptyBetweenSteps(region.kind()) && bytes > 0 && begin < end && region.offset_bytes() < end &&
        begin < region.offset_bytes() + bytes)
      problems.add(place + ", " + regionText(stage, index) + " from " + std::to_string(begin) + " to " +
                   std::to_string(end) + " lies over " + regionText(stage, i) + " at " +
                   std::to_string(region.offset_bytes()));
  }
  return end;
}

void StageMemory::checkRegions() {
  if (stage.arena_bytes() < 0)
    return problems.add(place + " has an arena of " + std::to_string(stage.arena_bytes()) + " bytes");
  std::set<std::pair<plan::Region::Kind, int64_t>> chunks;
  for (int i = 0; i < stage.regions_size(); ++i) {
    checkRegion(i);
    const plan::Region &region = stage.regions(i);
    bool isAlone = region.kind() == plan::Region::STEP || region.kind() == plan::Region::WORKSPACE;
    if ((isOfMicroBatch(region.kind()) || isAlone) && !chunks.emplace(region.kind(), region.chunk()).second)
      problems.add(place + ", " + regionText(stage, i) + " is a second one of chunk " + std::to_string(region.chunk()));
  }
  if (!problems.any())
    checkApart();
}

/// Regions follow each other without a byte in common, and the last ends with the arena.
void StageMemory::checkApart() {
  std::vector<int> order(stage.regions_size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return stage.regions(a).offset_bytes() < stage.regions(b).offset_bytes(); });
  int64_t end = 0, lotEnd = 0;
  int last = -1, step = -1, lot = -1;
  auto overlaps = [&](int index, int other, int64_t otherEnd) {
    problems.add(place + ", " + regionText(stage, index) + " starts at " +
                 std::to_string(stage.regions(index).offset_bytes()) + ", within " + regionText(stage, other) +
                 ", which ends at " + std::to_string(otherEnd));
  };
  std::map<plan::Region::Kind, int> pages; // the first region of the kind
  for (int i : order) {
    const plan::Region &region = stage.regions(i);
    int64_t bytes = regionBytes(region);
    if (region.kind() == plan::Region::STEP)
      step = i;
    if (region.places_size() > 0) { // one lot: CheckSchedule sees who shares bytes
      if (lot >= 0 && stage.regions(lot).offset_bytes() != region.offset_bytes())
        problems.add(place + ", " + regionText(stage, i) + " with places begins at " +
                     std::to_string(region.offset_bytes()) + ", but " + regionText(stage, lot) + " at " +
                     std::to_string(stage.regions(lot).offset_bytes()));
      if (region.offset_bytes() < end)
        overlaps(i, last, end);
      lotEnd = std::max(lotEnd, region.offset_bytes() + bytes);
      lot = i;
      continue;
    }
    if (isPaged(region.kind()))
      if (auto [first, isFirst] = pages.try_emplace(region.kind(), i); !isFirst) {
        checkSamePages(first->second, i);
        continue;
      }
    if (bytes == 0 || region.kind() == plan::Region::STEP)
      continue;
    if (region.offset_bytes() < end)
      overlaps(i, last, end);
    else if (region.offset_bytes() < lotEnd)
      overlaps(i, lot, lotEnd);
    end = std::max(end, region.offset_bytes() + bytes);
    last = i;
  }
  end = std::max(end, lotEnd);
  if (step >= 0)
    end = std::max(end, checkStep(step));
  if (end != stage.arena_bytes())
    problems.add(place + " has an arena of " + std::to_string(stage.arena_bytes()) + " bytes, but its regions end at " +
                 std::to_string(end));
}

void StageMemory::checkBuffer(int index) {
  const plan::Buffer &buffer = stage.buffers(index);
  std::string where = place + ", buffer " + std::to_string(index) + " '" + buffer.name() + "'";
  if (elementBytes(buffer.dtype()) == 0)
    return problems.add(where + " has the unknown " + dtypeText(buffer.dtype()));
  if (buffer.shape_size() > mostDimensions)
    return problems.add(where + " has " + std::to_string(buffer.shape_size()) + " dimensions, at most " +
                        std::to_string(mostDimensions) + " are possible");
  std::optional<int64_t> bytes = tensorBytes(buffer.dtype(), buffer.shape());
  if (!bytes)
    return problems.add(where + " has the impossible shape " + tensorText(buffer));
  if (buffer.region() >= static_cast<uint32_t>(stage.regions_size()))
    return problems.add(where + " lies in region " + std::to_string(buffer.region()) + ", but the stage has " +
                        std::to_string(stage.regions_size()) + " regions");
  int64_t slotBytes = stage.regions(buffer.region()).slot_bytes();
  if (buffer.offset_bytes() < 0 || buffer.offset_bytes() > slotBytes || *bytes > slotBytes - buffer.offset_bytes())
    return problems.add(where + " at offset " + std::to_string(buffer.offset_bytes()) + " with " +
                        std::to_string(*bytes) + " bytes ends beyond " + regionText(stage, buffer.region()) + " of " +
                        std::to_string(slotBytes) + " bytes");
  if (buffer.offset_bytes() % elementBytes(buffer.dtype()) != 0)
    problems.add(where + " is at offset " + std::to_string(buffer.offset_bytes()) +
                 ", which is not a multiple of its element size " + std::to_string(elementBytes(buffer.dtype())));
}

void tgpt::runtime::checkMemory(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageMemory(stage, problems).check();
}
