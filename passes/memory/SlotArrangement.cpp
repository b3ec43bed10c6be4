//===- SlotArrangement.cpp - what a micro-batch keeps: slots, pages, leaves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/SlotArrangement.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>

using namespace mlir;
using namespace tgpt;
using planir::SegmentKind;

void ChunkSpace::setOffsets(std::vector<int64_t> newOffsets, const std::vector<Lifetime> &kept) {
  offsets = std::move(newOffsets);
  placed.clear();
  for (auto [lifetime, offset] : llvm::zip(kept, offsets))
    placed.push_back({lifetime, offset});
  llvm::stable_sort(placed, [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; });
}

void ChunkSpace::shift(int64_t from, int64_t bytes) {
  for (int64_t &offset : offsets)
    offset += offset >= from ? bytes : 0;
  for (PlacedBuffer &buffer : placed)
    buffer.offset += buffer.offset >= from ? bytes : 0;
}

bool PagePool::holds(int64_t chunk, SegmentKind kind) const {
  auto found = holdings.find(chunk);
  Holding holding = found == holdings.end() ? Holding::Never : found->second;
  bool isWhole = holding == Holding::WholeMicroBatch;
  switch (kind) {
  case SegmentKind::Begin:
  case SegmentKind::Update: return false;
  case SegmentKind::Forward: return isWhole || holding == Holding::UntilBackward;
  case SegmentKind::Backward: return holding != Holding::Never;
  case SegmentKind::WeightGradient: return isWhole || holding == Holding::FromBackward;
  }
  llvm_unreachable("a kind of the enum");
}

/// Calls visit(run, segment) for the runs of a schedule, and collects whom it names.
template <typename Visit>
static std::vector<std::optional<cost::PageHolder>> holdersBy(planir::StageOp stage, const Visit &visit) {
  llvm::StringMap<planir::SegmentOp> segments;
  for (auto segment : stage.getBody().getOps<planir::SegmentOp>())
    segments[segment.getName()] = segment;
  std::vector<std::optional<cost::PageHolder>> holders;
  for (auto run : stage.getSchedule().getRuns().getAsRange<planir::RunAttr>())
    holders.push_back(visit(run, segments.lookup(run.getSegment().getValue())));
  return holders;
}

std::vector<std::optional<cost::PageHolder>> tgpt::holdersOf(const PagePool &pool, planir::StageOp stage,
                                                             std::optional<int64_t> ofChunk) {
  int64_t runs = 0;
  return holdersBy(stage, [&](planir::RunAttr run, planir::SegmentOp segment) -> std::optional<cost::PageHolder> {
    auto chunk = static_cast<int64_t>(segment.getChunk());
    ++runs;
    if (ofChunk && *ofChunk != chunk)
      return std::nullopt;
    if (pool.holds(chunk, segment.getKind()))
      return cost::PageHolder(chunk, run.getMicroBatch());
    return pool.has(chunk, segment.getKind()) ? std::optional(cost::PageHolder(-1, runs)) : std::nullopt;
  });
}

std::vector<std::optional<cost::PageHolder>> tgpt::holdersOfSlots(int64_t chunk, planir::StageOp stage) {
  return holdersBy(stage, [&](planir::RunAttr run, planir::SegmentOp segment) -> std::optional<cost::PageHolder> {
    if (run.getMicroBatch() < 0 || static_cast<int64_t>(segment.getChunk()) != chunk)
      return std::nullopt;
    return cost::PageHolder(chunk, run.getMicroBatch());
  });
}

static void takeOver(cost::DealtPages dealt, PagePool &pool) {
  pool.count = dealt.pages;
  pool.ofRun = std::move(dealt.pageOfRun);
}

void SlotArrangement::deal(planir::StageOp stage) {
  takeOver(cost::dealOutPages(holdersOf(pages, stage)), pages);
  takeOver(cost::dealOutPages(holdersOf(leaves, stage)), leaves);
}

void SlotArrangement::dealAlone(planir::StageOp stage, const StageLifetimes &lifetimes) {
  deal(stage);
  for (const SegmentBuffers &segment : lifetimes.segments)
    for (PagePool SlotArrangement::*pool : {&SlotArrangement::pages, &SlotArrangement::leaves}) {
      const PagePool &now = this->*pool;
      if (segment.runsOnce() || segment.set.lifetimes.empty() || now.holdings.empty() ||
          !chunks.contains(segment.chunk) || now.has(segment.chunk, segment.kind))
        continue;
      SlotArrangement more = *this;
      (more.*pool).alone.emplace(segment.chunk, segment.kind);
      more.deal(stage);
      if ((more.*pool).count == now.count)
        *this = std::move(more);
    }
}

/// When any buffer of a segment is live.
static Lifetime spanOf(const std::vector<Lifetime> &buffers, int64_t bytes) {
  Lifetime span = {buffers.front().first, buffers.front().last, bytes};
  for (const Lifetime &buffer : buffers) {
    span.first = std::min(span.first, buffer.first);
    span.last = std::max(span.last, buffer.last);
  }
  return span;
}

Space SlotArrangement::spaceOf(const SegmentBuffers &segment) const {
  Space space;
  auto found = chunks.find(segment.chunk);
  if (found == chunks.end())
    return space;
  const ChunkSpace &chunk = found->second;
  bool hasPage = pageBytesOf(chunk) > 0 && pages.has(segment.chunk, segment.kind);
  bool hasLeaf = leafBytesOf(chunk) > 0 && leaves.has(segment.chunk, segment.kind);
  bool holdsPage = pages.holds(segment.chunk, segment.kind), holdsLeaf = leaves.holds(segment.chunk, segment.kind);
  space.splits = {chunk.slotBytes};
  if (hasPage)
    space.splits.push_back(leafFrom(chunk));
  if (hasLeaf)
    space.splits.push_back(endOf(chunk));
  for (const PlacedBuffer &placed : chunk.placed) {
    bool isInPage = placed.offset >= pageFrom(chunk) && placed.offset < leafFrom(chunk);
    // What lies in a page that this segment does not hold is dead meanwhile.
    if (placed.offset < pageFrom(chunk) || (isInPage ? holdsPage : holdsLeaf))
      space.taken.push_back(placed);
  }
  if (hasLeaf && !hasPage && pageBytesOf(chunk) > 0 && !segment.set.lifetimes.empty()) {
    PlacedBuffer absent = {spanOf(segment.set.lifetimes, pageBytesOf(chunk)), pageFrom(chunk)};
    auto behind = llvm::find_if(space.taken, [&](const PlacedBuffer &taken) { return taken.offset > absent.offset; });
    space.taken.insert(behind, absent);
  }
  space.goalBytes = space.endlessFrom();
  return space;
}

int64_t SlotArrangement::bytes() const {
  if (lot)
    return lot->bytes;
  int64_t sum = pages.count * pages.bytes + leaves.count * leaves.bytes;
  for (const auto &[index, chunk] : chunks)
    sum += chunk.slots * chunk.slotBytes;
  return sum;
}

void SlotArrangement::resize(int64_t chunk, int64_t slotBytes) {
  ChunkSpace &space = chunks.at(chunk);
  space.shift(space.slotBytes, slotBytes - space.slotBytes);
  space.slotBytes = slotBytes;
}

void SlotArrangement::resizePages(int64_t pageBytes) {
  for (auto &[index, space] : chunks)
    space.shift(leafFrom(space), pageBytes - pages.bytes);
  pages.bytes = pageBytes;
}

SlotArrangement tgpt::arrangeSlots(const StageLifetimes &lifetimes, int64_t alignment, int64_t grainBytes) {
  SlotArrangement arrangement;
  for (const auto &[index, chunk] : lifetimes.chunks) {
    ChunkSpace &space = arrangement.chunks[index];
    Packing packing = packBuffers(chunk.kept.lifetimes, alignment);
    space.slots = chunk.slots;
    space.slotBytes = roundUp(packing.endBytes, grainBytes);
    space.setOffsets(std::move(packing.offsets), chunk.kept.lifetimes);
  }
  return arrangement;
}

SlotArrangement tgpt::stackSlots(const StageLifetimes &lifetimes, const SlotArrangement &slots, int64_t alignment,
                                 int64_t grainBytes) {
  SlotArrangement stacked = slots;
  for (auto &[index, space] : stacked.chunks) {
    const std::vector<Lifetime> &kept = lifetimes.chunks.at(index).kept.lifetimes;
    std::vector<size_t> order(kept.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](size_t a, size_t b) { return kept[a].last > kept[b].last; });
    std::vector<int64_t> offsets(kept.size());
    int64_t end = 0;
    for (size_t i : order) {
      offsets[i] = roundUp(end, alignment);
      end = offsets[i] + kept[i].bytes;
    }
    space.slotBytes = roundUp(end, grainBytes);
    space.setOffsets(std::move(offsets), kept);
  }
  return stacked;
}
