//===- Lot.cpp - slots, pages and leaves that lie anywhere ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot, page or leaf is held from one run of the schedule to another, as a buffer is live from
// one instruction to another, so they are packed as buffers are: those that are never held at
// once may share bytes. A micro-batch then has a place of its own, and micro-batches in whose turn the
// same bytes are free have the same ones.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PackInTurn.h"
#include "passes/memory/SlotArrangement.h"
#include <algorithm>
#include <functional>
#include <map>

using namespace mlir;
using namespace tgpt;

namespace {

/// Slots of a chunk, pages, or leaves, when they are held.
class HeldPlaces {
public:
  HeldPlaces(std::vector<std::optional<cost::PageHolder>> holders, int64_t bytes, Lot::Places &places)
      : holders(std::move(holders)), places(&places) {
    for (size_t run = 0; run < this->holders.size() && bytes > 0; ++run)
      if (const auto &holder = this->holders[run]) {
        auto at = static_cast<int64_t>(run);
        auto [found, isFirst] = indices.try_emplace(*holder, held.size());
        if (isFirst)
          held.push_back({at, at, bytes});
        held[found->second].last = at;
      }
  }

  const std::vector<Lifetime> &lifetimes() const { return held; }

  /// Whether something ends there that is as large as what is kept in it. A segment may have a page or a leaf alone and
  /// use less of it.
  bool isUsedUpTo(int64_t end, llvm::ArrayRef<int64_t> offsets) const {
    return llvm::any_of(indices, [&](const auto &entry) {
      auto [holder, index] = entry;
      return holder.first >= 0 && offsets[index] + held[index].bytes == end;
    });
  }

  /// `offsets` has as many as there are lifetimes.
  void setPlaces(llvm::ArrayRef<int64_t> offsets) {
    places->begins.assign(offsets.begin(), offsets.end());
    llvm::sort(places->begins);
    places->begins.erase(llvm::unique(places->begins), places->begins.end());
    places->ofRun.assign(holders.size(), 0);
    for (auto [holder, ofRun] : llvm::zip(holders, places->ofRun))
      if (auto found = holder ? indices.find(*holder) : indices.end(); found != indices.end())
        ofRun = llvm::lower_bound(places->begins, offsets[found->second]) - places->begins.begin() + 1;
  }

private:
  std::vector<std::optional<cost::PageHolder>> holders; // by run
  Lot::Places *places;
  std::map<cost::PageHolder, size_t> indices; // of lifetimes
  std::vector<Lifetime> held;
};

} // namespace

static std::vector<HeldPlaces> heldPlaces(SlotArrangement &arrangement, planir::StageOp stage) {
  std::vector<HeldPlaces> all;
  Lot &lot = *arrangement.lot;
  for (const auto &[index, chunk] : arrangement.chunks) {
    Lot::OfChunk &places = lot.chunks[index];
    all.emplace_back(holdersOfSlots(index, stage), chunk.slotBytes, places.slots);
    all.emplace_back(holdersOf(arrangement.pages, stage, index), chunk.pageBytes, places.pages);
    all.emplace_back(holdersOf(arrangement.leaves, stage, index), chunk.leafBytes, places.leaves);
  }
  return all;
}

static std::vector<Lifetime> lifetimesOf(const std::vector<HeldPlaces> &all) {
  std::vector<Lifetime> lifetimes;
  for (const HeldPlaces &places : all)
    llvm::append_range(lifetimes, places.lifetimes());
  return lifetimes;
}

/// Adds what is held of one pool at each run.
static void count(const std::vector<std::optional<cost::PageHolder>> &holders, size_t pool,
                  std::vector<std::vector<int64_t>> &runs) {
  std::map<cost::PageHolder, std::pair<size_t, size_t>> spans;
  for (size_t run = 0; run < holders.size(); ++run)
    if (holders[run])
      spans.try_emplace(*holders[run], run, run).first->second.second = run;
  std::vector<int64_t> changes(runs.size() + 1);
  for (const auto &[holder, span] : spans) {
    ++changes[span.first];
    --changes[span.second + 1];
  }
  int64_t held = 0;
  for (size_t run = 0; run < runs.size(); ++run)
    runs[run][pool] = held += changes[run];
}

static std::vector<std::vector<int64_t>> fullestMoments(const SlotArrangement &arrangement, planir::StageOp stage) {
  size_t pools = 3 * arrangement.chunks.size(), pool = 0;
  std::vector<std::vector<int64_t>> runs(stage.getSchedule().getRuns().size(), std::vector<int64_t>(pools));
  for (const auto &[index, chunk] : arrangement.chunks) {
    count(holdersOfSlots(index, stage), pool++, runs);
    count(holdersOf(arrangement.pages, stage, index), pool++, runs);
    count(holdersOf(arrangement.leaves, stage, index), pool++, runs);
  }
  llvm::sort(runs);
  runs.erase(llvm::unique(runs), runs.end());
  auto isCovered = [](const std::vector<int64_t> &one, const std::vector<int64_t> &other) {
    return &one != &other && std::equal(one.begin(), one.end(), other.begin(), std::less_equal<>());
  };
  std::vector<std::vector<int64_t>> fullest;
  for (const std::vector<int64_t> &one : runs)
    if (llvm::none_of(runs, [&](const std::vector<int64_t> &other) { return isCovered(one, other); }))
      fullest.push_back(one);
  return fullest;
}

void SlotArrangement::joinLot(planir::StageOp stage, Lot &alike) {
  for (auto &[index, chunk] : chunks)
    chunk.shift(leafFrom(chunk), chunk.pageBytes - pages.bytes);
  if (alike.moments.empty())
    alike.moments = fullestMoments(*this, stage);
  lot = alike;
  measureLot();
}

void SlotArrangement::measureLot() {
  lot->bytes = 0;
  for (const std::vector<int64_t> &moment : lot->moments) {
    int64_t held = 0;
    size_t pool = 0;
    for (const auto &[index, chunk] : chunks)
      for (int64_t bytes : {chunk.slotBytes, chunk.pageBytes, chunk.leafBytes})
        held += moment[pool++] * bytes;
    lot->bytes = std::max(lot->bytes, held);
  }
}

static bool isUsedUpTo(int64_t end, const std::vector<HeldPlaces> &all, llvm::ArrayRef<int64_t> offsets) {
  for (const HeldPlaces &places : all) {
    if (places.isUsedUpTo(end, offsets))
      return true;
    offsets = offsets.drop_front(places.lifetimes().size());
  }
  return false;
}

/// Upside down, where only so the lot is used to its end: the arena may end there, and no byte of it is for nothing.
static void useToEnd(Packing &packing, const std::vector<HeldPlaces> &all) {
  if (isUsedUpTo(packing.endBytes, all, packing.offsets))
    return;
  std::vector<int64_t> turned = packing.offsets;
  for (auto [offset, lifetime] : llvm::zip_equal(turned, lifetimesOf(all)))
    offset = packing.endBytes - offset - lifetime.bytes;
  if (isUsedUpTo(packing.endBytes, all, turned))
    packing.offsets = std::move(turned);
}

void SlotArrangement::findPlaces(planir::StageOp stage, int64_t grainBytes, int64_t slackBytes, size_t mostSearched,
                                 PackingCache &cache) {
  std::vector<HeldPlaces> all = heldPlaces(*this, stage);
  std::vector<Lifetime> lifetimes = lifetimesOf(all);
  int64_t goalBytes = peakLiveBytes(lifetimes) + slackBytes;
  Packing packing = packInTurn(lifetimes, grainBytes, goalBytes);
  if (packing.endBytes > goalBytes && lifetimes.size() <= mostSearched) {
    Space space;
    space.goalBytes = goalBytes;
    if (const Packing &searched = cache.pack(std::move(lifetimes), grainBytes, std::move(space));
        searched.endBytes < packing.endBytes)
      packing = searched;
  }
  useToEnd(packing, all);
  lot->bytes = roundUp(packing.endBytes, grainBytes);
  llvm::ArrayRef<int64_t> offsets = packing.offsets;
  for (HeldPlaces &places : all) {
    places.setPlaces(offsets.take_front(places.lifetimes().size()));
    offsets = offsets.drop_front(places.lifetimes().size());
  }
}
