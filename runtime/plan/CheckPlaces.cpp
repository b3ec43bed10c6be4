//===- CheckPlaces.cpp - who has which bytes, where slots lie anywhere ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots, pages and leaves of regions with places may share bytes. A chunk and micro-batch has
// its slot from its first to its last entry, a page or leaf likewise of the entries of one
// holding (PageHoldings.h); nobody else has a byte of these meanwhile.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PageHoldings.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <compare>
#include <iterator>
#include <map>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// Who has a slot, page or leaf, which, and when.
struct Holder {
  int region;
  int64_t microBatch;
  int holding;
  auto operator<=>(const Holder &) const = default;
};
struct Held {
  int64_t slot = 0;
  int first = 0, last = 0; // entries
};

class StagePlaces {
public:
  StagePlaces(const plan::StageProgram &stage, PlanProblems &problems) : stage(stage), problems(problems) {
    for (plan::Region::Kind kind : {plan::Region::PAGES, plan::Region::LEAVES})
      holdings[kind] = pageHoldings(stage, kind);
    for (int entry = 0; entry < stage.schedule_size(); ++entry)
      addEntry(entry);
  }

  void check() const {
    std::vector<std::vector<const std::pair<const Holder, Held> *>> begins(stage.schedule_size()), ends = begins;
    for (const auto &one : held) {
      begins[one.second.first].push_back(&one);
      ends[one.second.last].push_back(&one);
    }
    std::map<int64_t, const std::pair<const Holder, Held> *> now; // by first byte; disjoint
    for (int entry = 0; entry < stage.schedule_size() && !problems.full(); ++entry) {
      for (const auto *one : begins[entry])
        take(entry, *one, now);
      for (const auto *one : ends[entry])
        if (auto found = now.find(beginOf(*one)); found != now.end() && found->second == one)
          now.erase(found);
    }
  }

private:
  using One = std::pair<const Holder, Held>;

  void addEntry(int index) {
    const plan::ScheduleEntry &entry = stage.schedule(index);
    if (entry.micro_batch() < 0)
      return;
    int64_t chunk = stage.segments(static_cast<int>(entry.segment())).chunk();
    for (int i = 0; i < stage.regions_size(); ++i) {
      const plan::Region &region = stage.regions(i);
      int64_t slot = slotOf(region.kind(), heldBy(entry));
      if (region.places_size() == 0 || region.chunk() != chunk || slot < 0 || region.slot_bytes() == 0)
        continue;
      int holding = isPaged(region.kind()) ? holdings.at(region.kind())[entry.segment()] : 0;
      auto [found, isFirst] = held.try_emplace(Holder{i, entry.micro_batch(), holding}, Held{slot, index, index});
      found->second.last = index;
    }
  }

  int64_t beginOf(const One &one) const { return placeOf(stage.regions(one.first.region), one.second.slot); }
  int64_t endOf(const One &one) const { return beginOf(one) + stage.regions(one.first.region).slot_bytes(); }

  /// Adds what is taken at an entry to what is held then, or says who has some of its bytes.
  void take(int entry, const One &one, std::map<int64_t, const One *> &now) const {
    auto behind = now.lower_bound(beginOf(one));
    const One *other = behind != now.end() && behind->first < endOf(one) ? behind->second : nullptr;
    if (behind != now.begin() && endOf(*std::prev(behind)->second) > beginOf(one))
      other = std::prev(behind)->second;
    if (!other)
      return void(now.emplace(beginOf(one), &one));
    problems.add("stage " + std::to_string(stage.stage()) + ", schedule entry " + std::to_string(entry) +
                 ": micro-batch " + std::to_string(one.first.microBatch) + " takes slot " +
                 std::to_string(one.second.slot) + " of " + regionText(stage, one.first.region) +
                 ", of which micro-batch " + std::to_string(other->first.microBatch) + " has bytes as slot " +
                 std::to_string(other->second.slot) + " of " + regionText(stage, other->first.region) +
                 " until entry " + std::to_string(other->second.last));
  }

  const plan::StageProgram &stage;
  PlanProblems &problems;
  std::map<plan::Region::Kind, std::vector<int>> holdings; // by segment
  std::map<Holder, Held> held;
};

} // namespace

void tgpt::runtime::checkPlaces(const plan::StageProgram &stage, PlanProblems &problems) {
  for (const plan::Region &region : stage.regions())
    if (region.places_size() > 0)
      return StagePlaces(stage, problems).check();
}
