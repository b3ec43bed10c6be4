//===- AssignMemory.cpp - give every buffer its offset and every stage its arena ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where does each buffer lie?
//
//   %a = plan.buffer "a" in scratch   ->   %a = plan.buffer "a" in scratch at 64
//
// What a micro-batch keeps is placed first, in slots, pages and leaves (SlotArrangement.h), then
// what single segments use, in the room that these have left (SegmentPacking.h). So the arena
// is about as large as all that is live at once, and not the sum of each region's own peak.
// This file carries out: it writes down what they found.
//
// Relies on: plan-lower (any plan.program will do). Leaves true: buffers that are live
// at once share no byte; regions are as small as the packing found, side by side.
//
//===----------------------------------------------------------------------===//

#include "cost/BytesText.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/ForgetMemory.h"
#include "passes/memory/Passes.h"
#include "passes/memory/SegmentPacking.h"
#include <map>

namespace tgpt {
#define GEN_PASS_DEF_ASSIGNMEMORY
#include "passes/memory/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;

/// Largest arena: sums of offsets and sizes stay far from overflow.
static constexpr int64_t mostArenaBytes = int64_t(1) << 62;

namespace {

/// Bytes of a region's slot.
struct RegionSize {
  int64_t slotBytes = 0;
  int64_t peakLiveBytes = 0;
  bool isTight = true;
};

/// Assigns the memory of one stage.
class StageMemory {
public:
  StageMemory(planir::StageOp stage, int64_t alignment, PackingCache &cache)
      : stage(stage), builder(stage.getContext()), alignment(alignment),
        grainBytes(std::max(alignment, planir::regionGrainBytes)), cache(cache) {}

  LogicalResult run();

  int64_t buffersPlaced = 0, buffersInSlots = 0, regionsTight = 0, regionsLoose = 0, bytesAboveLive = 0;

private:
  /// A kind of region and, of activations, pages and leaves, a chunk.
  using RegionKey = std::pair<MemoryKind, int64_t>;

  LogicalResult checkTotal();
  void setPlace(planir::BufferOp buffer, RegionKey region, int64_t offset);
  void placeResident(MemoryKind kind, const BufferSet &set);
  std::pair<RegionKey, int64_t> partAt(const SlotArrangement &arrangement, int64_t index, int64_t offset) const;
  void placeKept(int64_t index, const BufferSet &kept, const SlotArrangement &arrangement);
  void placeSegment(const SegmentBuffers &segment, const Packing &packed, const SegmentPacking &packing);
  void addRegions(const SegmentPacking &packing);
  void setPages(const SlotArrangement &arrangement);
  llvm::ArrayRef<int64_t> placesOf(planir::RegionOp region, const SlotArrangement &arrangement) const;
  void placeParts();
  void alignChunks(const SlotArrangement &arrangement);
  SmallVector<planir::RegionOp> regionsInOrder();
  void placeRegions(const SegmentPacking &packing);

  planir::StageOp stage;
  OpBuilder builder;
  int64_t alignment, grainBytes;
  PackingCache &cache;
  std::map<RegionKey, RegionSize> sizes;
};

} // namespace

/// Refuses sizes whose sums could overflow: every buffer at once, in every slot.
LogicalResult StageMemory::checkTotal() {
  int64_t total = 0, slots = 1;
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    slots = std::max<int64_t>(slots, region.getSlots());
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>()) {
    if (buffer.getWhole())
      continue;
    int64_t bytes;
    if (llvm::AddOverflow(buffer.getBuffer().getType().getBytes(), alignment, bytes) ||
        llvm::MulOverflow(bytes, slots, bytes) || llvm::AddOverflow(total, bytes, total) || total > mostArenaBytes)
      return buffer.emitOpError() << "'" << buffer.getName() << "' takes the arena beyond " << mostArenaBytes
                                  << " bytes";
  }
  return success();
}

void StageMemory::setPages(const SlotArrangement &arrangement) {
  planir::ScheduleOp schedule = stage.getSchedule();
  if (!schedule)
    return;
  SmallVector<Attribute> runs;
  auto ofRun = [](const PagePool &pool, size_t run) { return pool.bytes == 0 ? 0 : pool.ofRun[run]; };
  for (auto [i, run] : llvm::enumerate(schedule.getRuns().getAsRange<planir::RunAttr>())) {
    int64_t slot = run.getSlot();
    if (!arrangement.lot) {
      runs.push_back(withPlaces(run, slot, ofRun(arrangement.pages, i), ofRun(arrangement.leaves, i)));
      continue;
    }
    int64_t page = 0, leaf = 0;
    for (const auto &[index, chunk] : arrangement.lot->chunks) { // that of the run has some
      slot = chunk.slots.ofRun[i] > 0 ? chunk.slots.ofRun[i] - 1 : slot;
      page += chunk.pages.ofRun[i];
      leaf += chunk.leaves.ofRun[i];
    }
    runs.push_back(withPlaces(run, slot, page, leaf));
  }
  schedule.setRunsAttr(builder.getArrayAttr(runs));
}

/// The places of a region's slots: none where they follow each other.
llvm::ArrayRef<int64_t> StageMemory::placesOf(planir::RegionOp region, const SlotArrangement &arrangement) const {
  if (!arrangement.lot)
    return {};
  auto chunk = static_cast<int64_t>(region.getChunk());
  switch (region.getKind()) {
  case MemoryKind::Activations: return arrangement.lot->chunks.at(chunk).slots.begins;
  case MemoryKind::Pages: return arrangement.lot->chunks.at(chunk).pages.begins;
  case MemoryKind::Leaves: return arrangement.lot->chunks.at(chunk).leaves.begins;
  default: return {};
  }
}

void StageMemory::setPlace(planir::BufferOp buffer, RegionKey region, int64_t offset) {
  buffer.setRegion(region.first);
  buffer.setChunk(static_cast<uint64_t>(region.second));
  buffer.setOffsetBytesAttr(builder.getI64IntegerAttr(offset));
  RegionSize &size = sizes[region];
  size.slotBytes = std::max(size.slotBytes, roundUp(offset + buffer.getBuffer().getType().getBytes(), grainBytes));
  ++buffersPlaced;
}

/// Places buffers that are always live.
void StageMemory::placeResident(MemoryKind kind, const BufferSet &set) {
  Packing packing = packBuffers(set.lifetimes, alignment);
  for (auto [buffer, offset] : llvm::zip(set.buffers, packing.offsets))
    setPlace(buffer, {kind, 0}, offset);
  sizes[{kind, 0}].peakLiveBytes = packing.peakLiveBytes;
}

/// The region of what lies at an offset in the space of a chunk, and where that begins: slot, page, leaf or scratch.
std::pair<StageMemory::RegionKey, int64_t> StageMemory::partAt(const SlotArrangement &arrangement, int64_t index,
                                                               int64_t offset) const {
  auto chunk = arrangement.chunks.find(index);
  if (chunk == arrangement.chunks.end())
    return {{MemoryKind::Scratch, 0}, 0};
  const ChunkSpace &space = chunk->second;
  if (offset < arrangement.pageFrom(space))
    return {{MemoryKind::Activations, index}, 0};
  if (offset < arrangement.leafFrom(space))
    return {{MemoryKind::Pages, index}, arrangement.pageFrom(space)};
  return {{MemoryKind::Leaves, index}, arrangement.leafFrom(space)};
}

void StageMemory::placeKept(int64_t index, const BufferSet &kept, const SlotArrangement &arrangement) {
  const ChunkSpace &space = arrangement.chunks.at(index);
  std::map<RegionKey, std::vector<Lifetime>> lifetimes;
  for (auto [buffer, lifetime, offset] : llvm::zip(kept.buffers, kept.lifetimes, space.offsets)) {
    auto [region, from] = partAt(arrangement, index, offset);
    setPlace(buffer, region, offset - from);
    lifetimes[region].push_back(lifetime);
  }
  for (const auto &[region, live] : lifetimes) {
    RegionSize &size = sizes[region];
    size.peakLiveBytes = peakLiveBytes(live);
    size.isTight = size.slotBytes <= roundUp(peakLiveBytes(live, alignment), grainBytes);
  }
}

void StageMemory::placeSegment(const SegmentBuffers &segment, const Packing &packed, const SegmentPacking &packing) {
  bool isInStep = packing.hasStep && segment.runsOnce();
  int64_t endlessFrom = isInStep ? 0 : packing.arrangement.spaceOf(segment).endlessFrom();
  RegionKey last = {isInStep ? MemoryKind::Step : MemoryKind::Scratch, 0};
  std::vector<Lifetime> behind;
  for (auto [buffer, lifetime, offset] : llvm::zip(segment.set.buffers, segment.set.lifetimes, packed.offsets)) {
    if (offset < endlessFrom) {
      auto [region, from] = partAt(packing.arrangement, segment.chunk, offset);
      setPlace(buffer, region, offset - from);
      ++buffersInSlots;
      continue;
    }
    setPlace(buffer, last, offset - endlessFrom);
    behind.push_back(lifetime);
  }
  sizes[last].peakLiveBytes = std::max(sizes[last].peakLiveBytes, peakLiveBytes(behind));
}

/// The regions of pages, of leaves and of what lies over others.
void StageMemory::addRegions(const SegmentPacking &packing) {
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    builder.setInsertionPointAfter(region);
  auto add = [&](MemoryKind kind, int64_t count, int64_t chunk) {
    planir::RegionOp::create(builder, stage.getLoc(), kind, count, IntegerAttr(), IntegerAttr(), IntegerAttr(), chunk,
                             DenseI64ArrayAttr());
  };
  const SlotArrangement &arrangement = packing.arrangement; // in a lot the number of places follows
  for (const auto &[index, chunk] : arrangement.chunks)
    if (arrangement.pageBytesOf(chunk) > 0)
      add(MemoryKind::Pages, arrangement.pages.count, index);
  for (const auto &[index, chunk] : arrangement.chunks)
    if (arrangement.leafBytesOf(chunk) > 0)
      add(MemoryKind::Leaves, arrangement.leaves.count, index);
  if (packing.hasStep)
    add(MemoryKind::Step, 1, 0);
}

void StageMemory::placeParts() {
  for (auto part : stage.getBody().getOps<planir::BufferOp>())
    if (auto whole = part.getWhole() ? part.getWhole().getDefiningOp<planir::BufferOp>() : planir::BufferOp()) {
      part.setRegion(whole.getRegion());
      part.setChunk(whole.getChunk());
      part.setOffsetBytesAttr(builder.getI64IntegerAttr(*whole.getOffsetBytes() + *part.getFromByte()));
    }
}

/// As they are written; where there are pages or a region over others, these and what they lie over come last, pages
/// and leaves before the slots: then the arena ends with what some segment uses to its end.
SmallVector<planir::RegionOp> StageMemory::regionsInOrder() {
  SmallVector<planir::RegionOp> regions(stage.getBody().getOps<planir::RegionOp>());
  auto rank = [](planir::RegionOp region) {
    switch (region.getKind()) {
    case MemoryKind::Pages: return 1;
    case MemoryKind::Leaves: return 2;
    case MemoryKind::Activations: return 3;
    case MemoryKind::Scratch: return 4;
    case MemoryKind::Step: return 5;
    default: return 0;
    }
  };
  bool isShared = llvm::any_of(regions, [](planir::RegionOp region) {
    return planir::isPaged(region.getKind()) || region.getKind() == MemoryKind::Step || region.getPlaces();
  });
  if (isShared)
    llvm::stable_sort(regions, [&](planir::RegionOp a, planir::RegionOp b) { return rank(a) < rank(b); });
  return regions;
}

/// Pages, or leaves, of which all chunks use the same ones, are as large as the largest of what they use.
void StageMemory::alignChunks(const SlotArrangement &arrangement) {
  if (arrangement.lot)
    return;
  for (MemoryKind kind : {MemoryKind::Pages, MemoryKind::Leaves}) {
    int64_t bytes = 0;
    for (const auto &[index, chunk] : arrangement.chunks)
      bytes = std::max(bytes, sizes[{kind, index}].slotBytes);
    for (const auto &[index, chunk] : arrangement.chunks)
      sizes[{kind, index}].slotBytes = bytes;
  }
}

void StageMemory::placeRegions(const SegmentPacking &packing) {
  alignChunks(packing.arrangement);
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    if (llvm::ArrayRef<int64_t> places = placesOf(region, packing.arrangement); !places.empty()) {
      region.setSlots(places.size());
      region.setPlacesAttr(builder.getDenseI64ArrayAttr(places));
    }
  int64_t end = 0, emptyFrom = 0, arena = 0;
  std::map<MemoryKind, int64_t> paged; // where the pages and leaves of the first chunk are
  std::optional<int64_t> lotFrom;
  for (planir::RegionOp region : regionsInOrder()) {
    const RegionSize &size = sizes[{region.getKind(), static_cast<int64_t>(region.getChunk())}];
    int64_t slots = region.getSlots(), offset = end, bytes = slots * size.slotBytes;
    if (std::optional<llvm::ArrayRef<int64_t>> places = region.getPlaces()) {
      lotFrom = offset = lotFrom.value_or(end);
      bytes = *llvm::max_element(*places) + size.slotBytes;
    }
    if (!planir::isEmptyBetweenSteps(region.getKind()))
      emptyFrom = end + bytes;
    if (region.getKind() == MemoryKind::Step)
      offset = emptyFrom; // over others
    if (planir::isPaged(region.getKind()) && !region.getPlaces())
      offset = paged.try_emplace(region.getKind(), end).first->second;
    region.setOffsetBytesAttr(builder.getI64IntegerAttr(offset));
    region.setSlotBytesAttr(builder.getI64IntegerAttr(size.slotBytes));
    region.setPeakLiveBytesAttr(builder.getI64IntegerAttr(size.peakLiveBytes));
    if (region.getPlaces()) {
      end = std::max(end, offset + bytes);
    } else if (offset == end) {
      end += bytes;
      bytesAboveLive += slots * (size.slotBytes - size.peakLiveBytes);
    }
    arena = std::max(arena, offset + bytes);
    ++(size.isTight ? regionsTight : regionsLoose);
  }
  stage.setArenaBytesAttr(builder.getI64IntegerAttr(arena));
}

LogicalResult StageMemory::run() {
  if (failed(checkTotal()))
    return failure();
  forgetMemory(stage);
  StageLifetimes lifetimes(stage);
  int64_t residentBytes = 0;
  for (const auto &[kind, set] : lifetimes.resident) {
    placeResident(kind, set);
    residentBytes += sizes[{kind, 0}].slotBytes;
  }
  auto [packing, isTight] = packStage({stage, lifetimes, alignment, grainBytes, residentBytes, cache});
  for (const auto &[index, chunk] : lifetimes.chunks)
    placeKept(index, chunk.kept, packing.arrangement);
  for (auto [segment, packed] : llvm::zip(lifetimes.segments, packing.segments))
    placeSegment(segment, packed, packing);
  sizes[{MemoryKind::Scratch, 0}].isTight = isTight;
  addRegions(packing);
  setPages(packing.arrangement);
  placeParts();
  placeRegions(packing);
  return success();
}

namespace {

struct AssignMemory : tgpt::impl::AssignMemoryBase<AssignMemory> {
  using AssignMemoryBase::AssignMemoryBase;

  void runOnOperation() override {
    if (alignment < 8 || !llvm::isPowerOf2_64(alignment)) {
      getOperation().emitError() << "option 'alignment' is " << alignment.getValue()
                                 << ", expected a power of two of at least 8";
      return signalPassFailure();
    }
    PackingCache cache;
    for (auto program : getOperation().getOps<planir::ProgramOp>())
      for (auto stage : program.getBody().getOps<planir::StageOp>())
        if (failed(assign(stage, cache)))
          return signalPassFailure();
  }

  LogicalResult assign(planir::StageOp stage, PackingCache &cache) {
    StageMemory memory(stage, alignment, cache);
    if (failed(memory.run()))
      return failure();
    buffersPlaced += memory.buffersPlaced;
    buffersInSlots += memory.buffersInSlots;
    regionsTight += memory.regionsTight;
    regionsLoose += memory.regionsLoose;
    bytesAboveLive += memory.bytesAboveLive;
    return checkLimit(stage);
  }

  LogicalResult checkLimit(planir::StageOp stage) {
    int64_t arena = *stage.getArenaBytes();
    if (limitBytes <= 0 || arena <= limitBytes)
      return success();
    return stage.emitError() << "stage " << stage.getStage() << " needs an arena of " << bytesText(double(arena))
                             << ", " << bytesText(double(arena - limitBytes)) << " (" << arena - limitBytes
                             << " bytes) more than the limit of " << bytesText(double(limitBytes))
                             << "; another cut (--stages), more stages, --zero or --recompute make it smaller";
  }
};

} // namespace
