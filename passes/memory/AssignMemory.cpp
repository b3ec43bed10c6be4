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
// What a micro-batch keeps is packed first. Its slot is full only at the turn from forward
// to backward; before and behind it has room, which buffers of one segment take where they
// fit, and only what does not fit goes to the scratch region. So the arena is about as
// large as all that is live at once, and not the sum of each region's own peak.
//
// Relies on: plan-lower (any plan.program will do). Leaves true: buffers that are live
// at once share no byte; regions are as small as the packing found, side by side.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/PackBuffers.h"
#include "passes/memory/Passes.h"
#include <map>
#include <tuple>

namespace tgpt {
#define GEN_PASS_DEF_ASSIGNMEMORY
#include "passes/memory/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;
using planir::SegmentKind;

/// Largest arena: sums of offsets and sizes stay far from overflow.
static constexpr int64_t mostArenaBytes = int64_t(1) << 62;

/// An arena is good enough that is 1/400 above what is live at once: no more search then.
static constexpr int64_t goodShare = 400;
/// Larger slots that are tried where it is not.
static constexpr size_t mostSlotSizes = 3;

namespace {

/// Buffers packed together: those of a region, or of one segment.
struct BufferSet {
  std::vector<planir::BufferOp> buffers;
  std::vector<Lifetime> lifetimes;

  void add(planir::BufferOp buffer, int64_t first, int64_t last) {
    buffers.push_back(buffer);
    lifetimes.push_back({first, last, buffer.getBuffer().getType().getBytes()});
  }
};

/// Bytes of a region's slot.
struct RegionSize {
  int64_t slotBytes = 0;
  int64_t peakLiveBytes = 0;
  bool isTight = true;
};

/// What a model chunk keeps of each micro-batch in flight, and where in its slot.
struct KeptChunk {
  BufferSet kept;
  std::vector<PlacedBuffer> placed; ///< by rising offset
  int64_t slots = 1;
  int64_t keptBytes = 0; ///< the least a slot may have
};

/// The buffers of one segment, and the chunk whose slot they may lie in.
struct SegmentBuffers {
  BufferSet set;
  int64_t chunk = 0;
};

/// A chunk, and bytes of its slots.
using SlotSize = std::pair<int64_t, int64_t>;

/// Where the buffers of all segments lie: in a slot of their chunk, or behind it, in scratch.
struct SlotPacking {
  std::map<int64_t, int64_t> slotBytes; ///< by chunk
  int64_t scratchBytes = 0;
  int64_t totalBytes = 0; ///< of all slots and scratch
  std::vector<Packing> segments;
};

/// Assigns the memory of one stage.
class StageMemory {
public:
  StageMemory(planir::StageOp stage, int64_t alignment)
      : stage(stage), alignment(alignment), grainBytes(std::max(alignment, planir::regionGrainBytes)) {
    orderInstructions();
  }

  LogicalResult run();

  int64_t buffersPlaced = 0, buffersInSlots = 0, regionsTight = 0, regionsLoose = 0, bytesAboveLive = 0;

private:
  /// A kind of region and, of activations, a chunk.
  using RegionKey = std::pair<MemoryKind, int64_t>;

  void orderInstructions();
  void sortBuffers();
  void addByUses(planir::BufferOp buffer);
  void setPlace(planir::BufferOp buffer, RegionKey region, int64_t offset);
  void placeRegion(RegionKey region, const BufferSet &set);
  void placeKept(int64_t index, KeptChunk &chunk);
  Space spaceOf(const SegmentBuffers &segment, int64_t slotBytes) const;
  SlotPacking packSegments(const std::map<int64_t, int64_t> &slotBytes, int64_t goodBytes) const;
  std::vector<SlotSize> largerSlots(const SlotPacking &packing) const;
  std::vector<SlotSize> sizesThatFit(const SlotPacking &packing) const;
  int64_t leastScratchBytes() const;
  SlotPacking bestPacking();
  void placeSegments(const SlotPacking &packing);
  void placeParts();
  LogicalResult checkTotal();

  planir::StageOp stage;
  int64_t alignment, grainBytes;
  /// Position and segment of every instruction: forward, backward and weight_gradient of a
  /// chunk are neighbours, so that a saved activation lives from one into the next.
  struct Place {
    int64_t position;
    unsigned segment;
  };
  llvm::DenseMap<Operation *, Place> places;
  std::map<RegionKey, BufferSet> resident; ///< always live
  std::map<int64_t, KeptChunk> chunks;     ///< those with a region of activations
  std::vector<SegmentBuffers> segments;    ///< what is dead at the end of its segment
  std::map<RegionKey, RegionSize> sizes;
};

} // namespace

/// What runs after what in a micro-batch of a chunk.
static int rankOf(SegmentKind kind) {
  switch (kind) {
  case SegmentKind::Begin: return 0;
  case SegmentKind::Forward: return 1;
  case SegmentKind::Backward: return 2;
  case SegmentKind::WeightGradient: return 3;
  case SegmentKind::Update: return 4;
  }
  llvm_unreachable("a kind of the enum");
}

void StageMemory::orderInstructions() {
  SmallVector<planir::SegmentOp> ordered(stage.getBody().getOps<planir::SegmentOp>());
  llvm::stable_sort(ordered, [](planir::SegmentOp a, planir::SegmentOp b) {
    return std::pair(a.getChunk(), rankOf(a.getKind())) < std::pair(b.getChunk(), rankOf(b.getKind()));
  });
  int64_t position = 0;
  for (planir::SegmentOp segment : ordered) {
    for (Operation &op : segment.getBody().getOps())
      places[&op] = {position++, static_cast<unsigned>(segments.size())};
    segments.emplace_back().chunk = static_cast<int64_t>(segment.getChunk());
  }
  if (segments.empty())
    segments.emplace_back();
}

/// Adds a buffer with the lifetime its instructions give it. What one segment alone uses
/// belongs to it, wherever it lay before.
void StageMemory::addByUses(planir::BufferOp buffer) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
  unsigned segment = 0, firstSegment = 0;
  SmallVector<Operation *> users(buffer.getBuffer().getUsers());
  for (Operation *user : buffer.getBuffer().getUsers())
    if (auto part = dyn_cast<planir::BufferOp>(user))
      llvm::append_range(users, part.getBuffer().getUsers());
  for (Operation *user : users)
    if (auto place = places.find(user); place != places.end()) {
      if (place->second.position < first)
        std::tie(first, firstSegment) = std::pair(place->second.position, place->second.segment);
      if (place->second.position > last)
        std::tie(last, segment) = std::pair(place->second.position, place->second.segment);
    }
  if (last < 0) // named but never touched
    first = last = 0;
  bool isKept = buffer.getRegion() == MemoryKind::Activations &&
                (firstSegment != segment || !stage.getRegionOf(MemoryKind::Scratch));
  BufferSet &set = isKept ? chunks[static_cast<int64_t>(buffer.getChunk())].kept : segments[segment].set;
  set.add(buffer, first, last);
}

void StageMemory::sortBuffers() {
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    if (region.getKind() == MemoryKind::Activations)
      chunks[static_cast<int64_t>(region.getChunk())].slots = region.getSlots();
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>()) {
    if (buffer.getWhole())
      continue;
    if (buffer.getRegion() == MemoryKind::Scratch || buffer.getRegion() == MemoryKind::Activations)
      addByUses(buffer);
    else
      resident[{buffer.getRegion(), 0}].add(buffer, 0, 0);
  }
}

void StageMemory::setPlace(planir::BufferOp buffer, RegionKey region, int64_t offset) {
  buffer.setRegion(region.first);
  buffer.setChunk(static_cast<uint64_t>(region.second));
  buffer.setOffsetBytesAttr(Builder(stage.getContext()).getI64IntegerAttr(offset));
  ++buffersPlaced;
}

/// Places buffers that have a region of their own.
void StageMemory::placeRegion(RegionKey region, const BufferSet &set) {
  Packing packing = packBuffers(set.lifetimes, alignment);
  for (auto [buffer, offset] : llvm::zip(set.buffers, packing.offsets))
    setPlace(buffer, region, offset);
  RegionSize &size = sizes[region];
  size.slotBytes = roundUp(packing.endBytes, grainBytes);
  size.peakLiveBytes = packing.peakLiveBytes;
  size.isTight = size.slotBytes <= roundUp(peakLiveBytes(set.lifetimes, alignment), grainBytes);
}

/// What is kept lies in the order in which it is made: the backward, which needs the last
/// first, then frees the slot from its end.
void StageMemory::placeKept(int64_t index, KeptChunk &chunk) {
  RegionKey region = {MemoryKind::Activations, index};
  placeRegion(region, chunk.kept);
  chunk.keptBytes = sizes[region].slotBytes;
  for (auto [buffer, lifetime] : llvm::zip(chunk.kept.buffers, chunk.kept.lifetimes))
    chunk.placed.push_back({lifetime, static_cast<int64_t>(*buffer.getOffsetBytes())});
  llvm::stable_sort(chunk.placed, [](const PlacedBuffer &a, const PlacedBuffer &b) { return a.offset < b.offset; });
}

Space StageMemory::spaceOf(const SegmentBuffers &segment, int64_t slotBytes) const {
  auto chunk = chunks.find(segment.chunk);
  return {chunk == chunks.end() ? std::vector<PlacedBuffer>() : chunk->second.placed, slotBytes, slotBytes};
}

/// Each segment has a slot of its chunk to itself, and all of the scratch region. A total of
/// `goodBytes` is not improved any more.
SlotPacking StageMemory::packSegments(const std::map<int64_t, int64_t> &slotBytes, int64_t goodBytes) const {
  SlotPacking result;
  result.slotBytes = slotBytes;
  for (auto [index, bytes] : slotBytes)
    result.totalBytes += chunks.at(index).slots * bytes;
  int64_t goodScratch = std::max<int64_t>(goodBytes - result.totalBytes, 0);
  for (const SegmentBuffers &segment : segments) {
    auto own = slotBytes.find(segment.chunk);
    int64_t split = own == slotBytes.end() ? 0 : own->second;
    Space space = spaceOf(segment, split);
    space.goalBytes = split + std::max(goodScratch, result.scratchBytes);
    result.segments.push_back(packBuffers(segment.set.lifetimes, alignment, space));
    result.scratchBytes = std::max(result.scratchBytes, roundUp(result.segments.back().endBytes - split, grainBytes));
  }
  result.totalBytes += result.scratchBytes;
  return result;
}

/// Slot sizes that let what lies behind a slot into it, where that may be worth it.
std::vector<SlotSize> StageMemory::sizesThatFit(const SlotPacking &packing) const {
  std::vector<SlotSize> found;
  for (auto [segment, packed] : llvm::zip(segments, packing.segments)) {
    auto chunk = chunks.find(segment.chunk);
    if (chunk == chunks.end())
      continue;
    int64_t slotBytes = packing.slotBytes.at(segment.chunk);
    for (auto [lifetime, offset] : llvm::zip(segment.set.lifetimes, packed.offsets)) {
      int64_t below = 0;
      for (const PlacedBuffer &placed : chunk->second.placed)
        if (placed.lifetime.first <= lifetime.last && lifetime.first <= placed.lifetime.last)
          below = std::max(below, placed.offset + placed.lifetime.bytes);
      int64_t size = roundUp(roundUp(below, alignment) + lifetime.bytes, grainBytes);
      if (offset >= slotBytes && size > slotBytes && chunk->second.slots * (size - slotBytes) < packing.scratchBytes)
        found.emplace_back(segment.chunk, size);
    }
  }
  return found;
}

/// Larger slots to try. Where there is one slot, it does not matter where a byte is, so all
/// may lie in it.
std::vector<SlotSize> StageMemory::largerSlots(const SlotPacking &packing) const {
  if (chunks.size() == 1 && chunks.begin()->second.slots == 1) {
    int64_t end = chunks.begin()->second.keptBytes;
    for (const SegmentBuffers &segment : segments) {
      Space space = spaceOf(segment, 0);
      space.goalBytes = end;
      end = std::max(end, packBuffers(segment.set.lifetimes, alignment, space).endBytes);
    }
    return {{chunks.begin()->first, roundUp(end, grainBytes)}};
  }
  std::vector<SlotSize> found = sizesThatFit(packing);
  llvm::sort(found, [](const SlotSize &a, const SlotSize &b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  found.erase(llvm::unique(found), found.end());
  found.resize(std::min<size_t>(found.size(), mostSlotSizes));
  return found;
}

/// The least of scratch that would do beside slots of what is kept.
int64_t StageMemory::leastScratchBytes() const {
  int64_t least = 0;
  for (const SegmentBuffers &segment : segments) {
    std::vector<Lifetime> all = segment.set.lifetimes;
    auto chunk = chunks.find(segment.chunk);
    if (chunk != chunks.end())
      llvm::append_range(all, chunk->second.kept.lifetimes);
    least = std::max(least, peakLiveBytes(all, alignment) - (chunk == chunks.end() ? 0 : chunk->second.keptBytes));
  }
  return roundUp(least, grainBytes);
}

SlotPacking StageMemory::bestPacking() {
  std::map<int64_t, int64_t> kept;
  int64_t least = leastScratchBytes(), arena = 0;
  for (const auto &[index, chunk] : chunks) {
    kept[index] = chunk.keptBytes;
    least += chunk.slots * chunk.keptBytes;
  }
  for (const auto &[region, set] : resident)
    arena += sizes[region].slotBytes;
  int64_t good = least + (arena + least) / goodShare;
  SlotPacking best = packSegments(kept, good);
  if (best.totalBytes > good)
    for (auto [chunk, bytes] : largerSlots(best)) {
      std::map<int64_t, int64_t> slotBytes = kept;
      slotBytes[chunk] = bytes;
      if (SlotPacking packing = packSegments(slotBytes, good); packing.totalBytes < best.totalBytes)
        best = packing;
    }
  sizes[{MemoryKind::Scratch, 0}].isTight = best.totalBytes <= least;
  return best;
}

void StageMemory::placeSegments(const SlotPacking &packing) {
  RegionSize &scratch = sizes[{MemoryKind::Scratch, 0}];
  for (auto [segment, packed] : llvm::zip(segments, packing.segments)) {
    auto own = packing.slotBytes.find(segment.chunk);
    int64_t split = own == packing.slotBytes.end() ? 0 : own->second;
    std::vector<Lifetime> behind;
    for (auto [buffer, lifetime, offset] : llvm::zip(segment.set.buffers, segment.set.lifetimes, packed.offsets)) {
      bool isInSlot = offset < split;
      RegionKey region =
          isInSlot ? RegionKey(MemoryKind::Activations, segment.chunk) : RegionKey(MemoryKind::Scratch, 0);
      int64_t within = isInSlot ? offset : offset - split;
      setPlace(buffer, region, within);
      buffersInSlots += isInSlot;
      sizes[region].slotBytes = std::max(sizes[region].slotBytes, roundUp(within + lifetime.bytes, grainBytes));
      if (!isInSlot)
        behind.push_back(lifetime);
    }
    scratch.peakLiveBytes = std::max(scratch.peakLiveBytes, peakLiveBytes(behind));
  }
}

void StageMemory::placeParts() {
  Builder builder(stage.getContext());
  for (auto part : stage.getBody().getOps<planir::BufferOp>())
    if (auto whole = part.getWhole() ? part.getWhole().getDefiningOp<planir::BufferOp>() : planir::BufferOp()) {
      part.setRegion(whole.getRegion());
      part.setChunk(whole.getChunk());
      part.setOffsetBytesAttr(builder.getI64IntegerAttr(*whole.getOffsetBytes() + *part.getFromByte()));
    }
}

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

LogicalResult StageMemory::run() {
  if (failed(checkTotal()))
    return failure();
  sortBuffers();
  for (const auto &[region, set] : resident)
    placeRegion(region, set);
  for (auto &[index, chunk] : chunks)
    placeKept(index, chunk);
  placeSegments(bestPacking());
  placeParts();
  Builder builder(stage.getContext());
  int64_t offset = 0;
  for (auto region : stage.getBody().getOps<planir::RegionOp>()) {
    const RegionSize &size = sizes[{region.getKind(), static_cast<int64_t>(region.getChunk())}];
    region.setOffsetBytesAttr(builder.getI64IntegerAttr(offset));
    region.setSlotBytesAttr(builder.getI64IntegerAttr(size.slotBytes));
    region.setPeakLiveBytesAttr(builder.getI64IntegerAttr(size.peakLiveBytes));
    int64_t slots = region.getSlots();
    offset += slots * size.slotBytes;
    bytesAboveLive += slots * (size.slotBytes - size.peakLiveBytes);
    ++(size.isTight ? regionsTight : regionsLoose);
  }
  stage.setArenaBytesAttr(builder.getI64IntegerAttr(offset));
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
    for (auto program : getOperation().getOps<planir::ProgramOp>())
      for (auto stage : program.getBody().getOps<planir::StageOp>())
        if (failed(assign(stage)))
          return signalPassFailure();
  }

  LogicalResult assign(planir::StageOp stage) {
    StageMemory memory(stage, alignment);
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
    return stage.emitError() << "stage " << stage.getStage() << " needs an arena of " << arena << " bytes, "
                             << arena - limitBytes << " more than the limit of " << limitBytes.getValue()
                             << "; another cut (--stages), more stages, --zero or --recompute make it smaller";
  }
};

} // namespace
